"use strict";
// The interview bank: filter by level, chapter and road (they stand in the address, so that
// a list can be sent), a random question, what was known; and sessions, in which one question is shown at a time.
(() => {
  const bank = document.querySelector(".bank"), says = bank.querySelector("[role=status]");
  const questions = [...document.querySelectorAll("details.qa")];
  const chapter = bank.querySelector("#bank-chapter"), open = bank.querySelector("#bank-open");
  const road = bank.querySelector("#bank-road");
  const known = (question) => {
    try { return localStorage.getItem(`knew ${question.dataset.key}`) !== null; } catch { return false; }
  };
  const mark = (question, yes) => {
    try {
      if (yes) localStorage.setItem(`knew ${question.dataset.key}`, "1");
      else localStorage.removeItem(`knew ${question.dataset.key}`);
    } catch { /* storage is off */ }
  };
  const wantedNow = () => {
    const level = bank.querySelector("[name=bank-level]:checked").value;
    return questions.filter(({ dataset }) =>
      (!level || dataset.level === level) && (!chapter.value || dataset.chapter === chapter.value) &&
      !(road.checked && "side" in dataset));
  };
  let session = null;
  const show = () => {
    const wanted = wantedNow(), now = session && questions.find(({ dataset }) => dataset.key === session.keys[session.at]);
    for (const question of questions) {
      question.hidden = session ? question !== now || !session.begun : !wanted.includes(question) || (open.checked && known(question));
      question.classList.toggle("known", known(question));
      question.querySelector(".bank-knew").textContent = bank.dataset[known(question) ? "forget" : "knew"];
    }
    for (const section of document.querySelectorAll("article section section")) {
      const inside = [...section.querySelectorAll("details.qa")];
      section.hidden = inside.length > 0 && inside.every((question) => question.hidden);
    }
    if (!session) says.textContent = fill(bank.dataset.score, wanted.filter(known).length, wanted.length);
  };
  const fill = (text, ...values) => text.replace(/\{\}/g, () => values.shift());
  for (const question of questions) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "bank-knew";
    button.addEventListener("click", () => {
      mark(question, !known(question));
      question.open = !known(question);
      show();
      question.querySelector("summary").focus();
    });
    question.append(button);
  }
  const level = (value) => bank.querySelector(`[name=bank-level][value="${CSS.escape(value)}"]`);
  const note = () => {
    const address = new URL(location.href);
    const chosen = {
      level: bank.querySelector("[name=bank-level]:checked").value, chapter: chapter.value,
      open: open.checked ? "1" : "", road: road.checked ? "1" : "",
    };
    for (const [name, value] of Object.entries(chosen))
      value ? address.searchParams.set(name, value) : address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
  };
  const asked = new URLSearchParams(location.search), wants = asked.get("chapter") ?? "";
  (level(asked.get("level") ?? "") ?? level("")).checked = true;
  chapter.value = [...chapter.options].some(({ value }) => value === wants) ? wants : "";
  open.checked = asked.has("open");
  road.checked = asked.has("road");
  bank.addEventListener("change", () => (show(), note()));
  bank.querySelector("#bank-random").addEventListener("click", () => {
    const left = questions.filter((question) => !question.hidden);
    const fresh = left.filter((question) => !known(question) && !question.open);
    const pool = fresh.length ? fresh : left;
    if (!pool.length) return;
    for (const question of questions) {
      question.open = false;
      question.classList.remove("drawn");
    }
    const drawn = pool[Math.floor(Math.random() * pool.length)];
    drawn.classList.add("drawn");
    drawn.scrollIntoView({ block: "center" });
    drawn.querySelector("summary").focus({ preventScroll: true });
  });

  // ---- sessions: ten questions, or a mock interview with a clock ---------------------------

  const WORDS = JSON.parse(bank.dataset.session), KEPT = "bank session";
  const TEN = 10, MOCK = 6, MINUTES = 30; // five minutes a question
  const panel = bank.querySelector(".bank-session"), judge = document.createElement("p");
  const memory = new Map(); // where storage is off
  const get = (name) => { try { return localStorage.getItem(name); } catch { return memory.get(name) ?? null; } };
  const put = (name, value) => {
    try { value === null ? localStorage.removeItem(name) : localStorage.setItem(name, value); } catch { memory.set(name, value); }
  };
  // How weak a question is: above 0 as often as it was not known, below 0 as often as it was.
  const weak = ({ dataset }) => Number(get(`weak ${dataset.key}`) ?? (get(`knew ${dataset.key}`) ? -1 : 0));
  const weakest = (some) => [...some].sort((a, b) => weak(b) - weak(a)); // else as listed: most asked first
  // A mock interview goes from concepts to algorithms and prefers frequent questions.
  const drawn = (some, count) => some.map((question, i) => [Math.random() ** 2 * (i + 5), question])
    .sort(([a], [b]) => a - b).slice(0, count).map(([, question]) => question);
  const mock = (some) => {
    const levels = [...new Set(some.map(({ dataset }) => dataset.level))].sort();
    return levels.flatMap((level) => drawn(some.filter(({ dataset }) => dataset.level === level), Math.ceil(MOCK / levels.length)));
  };
  const button = (parent, name, text, click) => {
    const made = Object.assign(document.createElement("button"), { type: "button", className: `bank-${name}`, textContent: text });
    made.addEventListener("click", click);
    return parent.appendChild(made);
  };
  const keep = () => put(KEPT, session && JSON.stringify(session));
  const current = () => questions.find(({ dataset }) => dataset.key === session.keys[session.at]);
  const clock = () => {
    const shown = panel.querySelector("[role=timer]");
    if (!session?.until || !shown) return;
    const left = Math.max(0, Math.round((session.until - Date.now()) / 1000));
    shown.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (!left) finish(WORDS.up);
  };
  setInterval(clock, 500);
  const ask = () => {
    panel.replaceChildren();
    panel.hidden = false;
    bank.classList.add("asking");
    says.textContent = session.begun ? fill(WORDS.at, session.at + 1, session.keys.length) : fill(WORDS.ready, session.keys.length);
    show();
    keep();
    if (!session.begun) {
      button(panel, "go", WORDS.go, () => {
        session.begun = true;
        session.until = Date.now() + MINUTES * 60000;
        ask();
      });
      button(panel, "end", WORDS.end, leave);
      panel.querySelector("button").focus();
      return;
    }
    if (session.until) {
      const timer = panel.appendChild(document.createElement("p"));
      timer.setAttribute("role", "timer");
      timer.setAttribute("aria-label", WORDS.left);
      clock();
      if (!session) return;
    }
    button(panel, "skip", WORDS.skip, () => answer(false));
    button(panel, "end", WORDS.end, () => finish());
    const question = current();
    question.open = false;
    question.append(judge);
    question.querySelector("summary").focus({ preventScroll: true });
    question.scrollIntoView({ block: "nearest" });
  };
  const answer = (yes) => {
    const question = current(), was = weak(question);
    put(`weak ${question.dataset.key}`, yes ? Math.min(0, was) - 1 : Math.max(0, was) + 1);
    mark(question, yes);
    question.open = false;
    if (yes) session.knew.push(question.dataset.key);
    session.at += 1;
    if (session.at < session.keys.length) ask(); else finish();
  };
  const finish = (why = "") => {
    const { keys, at, knew } = session, missed = keys.slice(0, at).filter((key) => !knew.includes(key));
    session = null;
    keep();
    judge.remove();
    show();
    bank.classList.add("asking");
    says.textContent = `${why} ${fill(WORDS.done, knew.length, at)}`.trim();
    panel.replaceChildren();
    if (missed.length) {
      panel.appendChild(document.createElement("p")).textContent = WORDS.repeat;
      const list = panel.appendChild(document.createElement("ul"));
      for (const key of missed) {
        const question = questions.find(({ dataset }) => dataset.key === key);
        const link = list.appendChild(document.createElement("li")).appendChild(document.createElement("a"));
        Object.assign(link, { href: `#${question.id}`, textContent: question.querySelector("summary span").textContent });
      }
    }
    button(panel, "back", WORDS.back, leave).focus();
  };
  const leave = () => {
    session = null;
    keep();
    panel.hidden = true;
    bank.classList.remove("asking");
    show();
    bank.querySelector("#bank-ten").focus();
  };
  const begin = (some, begun) => {
    if (!some.length) return;
    session = { keys: some.map(({ dataset }) => dataset.key), at: 0, knew: [], begun, until: 0 };
    ask();
  };
  judge.className = "bank-judge";
  button(judge, "yes", WORDS.yes, () => answer(true));
  button(judge, "no", WORDS.no, () => answer(false));
  bank.querySelector("#bank-ten").addEventListener("click", () => begin(weakest(wantedNow()).slice(0, TEN), true));
  bank.querySelector("#bank-mock").addEventListener("click", () => begin(mock(wantedNow()), false));
  const unfinished = () => { // a session that was left is offered, not begun
    let kept = null;
    try { kept = JSON.parse(get(KEPT)); } catch { /* not ours */ }
    const all = new Set(questions.map(({ dataset }) => dataset.key));
    if (!kept?.keys?.length || !kept.keys.every((key) => all.has(key)) || !(kept.at < kept.keys.length)) return;
    const made = button(bank, "more", fill(WORDS.more, kept.at + 1), () => {
      made.remove();
      session = kept;
      ask();
    });
    bank.querySelector("#bank-ten").before(made);
  };

  const target = () => { // a question that a link leads to is listed and open
    const question = questions.find(({ id }) => id === decodeURIComponent(location.hash.slice(1)));
    if (!question) return;
    question.hidden = false;
    question.open = true;
    question.scrollIntoView();
  };
  addEventListener("hashchange", target);
  bank.hidden = false;
  show();
  unfinished();
  target();
})();
