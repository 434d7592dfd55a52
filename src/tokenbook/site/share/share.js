// The reader gives every token of a response its credit; the rows beneath show the algorithms'
// credit and the measured one. The address keeps a credit: the place of the response, and a letter
// for each token.
"use strict";
(() => {
  const A = "a".charCodeAt(0), TRIES = /[^✗✓]+[✗✓]\$?/gu;

  const cosine = (one, two) => {
    const dot = one.reduce((sum, x, t) => sum + x * two[t], 0);
    const norms = Math.hypot(...one) * Math.hypot(...two);
    return norms ? dot / norms : NaN;
  };
  const encode = (place, given, levels) =>
    `${place}.${given.map((level) => String.fromCharCode(A + levels + level)).join("")}`;
  const decode = (code, lengths, levels) => {
    const [, place, letters] = /^(\d)\.([a-z]+)$/.exec(code) ?? [];
    if (!letters || letters.length !== lengths[place]) return null;
    const given = [...letters].map((letter) => letter.charCodeAt(0) - A - levels);
    return given.some((level) => level > levels) ? null : { place: +place, given };
  };
  const squares = (text, given) => {
    let t = 0;
    return text.match(TRIES).map((each) =>
      [...each].map(() => ["🟧", "⬜", "🟦"][Math.sign(given[t++]) + 1]).join("")).join("\n");
  };
  globalThis.shareTools = { cosine, encode, decode, squares };
  if (!globalThis.document) return;

  const box = document.getElementById("share-it"), play = box.querySelector(".share-play");
  const { responses, words, steps, levels, most } =
    JSON.parse(box.querySelector("script").textContent);
  const ROWS = Object.keys(words.says), lengths = responses.map(({ text }) => text.length);
  const root = document.documentElement.dataset.content_root ?? "./";
  const COPIED = 2000; // ms, and the button has its name again
  let place = 0, given, open = false, learned = null;

  const make = (name, className, ...inside) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...inside);
    return element;
  };
  const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, n) => values[n]);
  const minus = (text) => text.replaceAll("-", "−"); // as the book writes it
  const shown = (x, digits = 2) => x.toFixed(digits).replace("-", "−");
  const button = (label, does, className) => {
    const element = make("button", className, label);
    element.type = "button";
    element.addEventListener("click", () => does(element));
    return element;
  };
  const drawn = (inside) =>
    `<svg viewBox="0 0 44 24" aria-hidden="true">${inside}</svg>`;
  const needle = (c) => {
    const angle = Math.acos(Math.max(-1, Math.min(1, c)));
    const x = 22 + 19 * Math.cos(angle), y = 22 - 19 * Math.sin(angle);
    return drawn(`<path d="M2 22a20 20 0 0 1 40 0z"/><path class="on" d="M22 22L${x.toFixed(1)} ${y.toFixed(1)}"/>`);
  };
  const curve = (rates) => {
    const points = rates.map((rate, n) =>
      `${(2 + (40 * n) / steps).toFixed(1)} ${(22 - 20 * rate).toFixed(1)}`);
    return drawn(`<path d="M2 22h40M2 2h40"/><path class="on" d="M${points.join("L")}"/>`);
  };

  // The tokens of a response, try by try, each with the bar of its credit.
  const strip = (text, credit, each = () => {}) => {
    const whole = make("div", "share-strip");
    let t = 0;
    for (const some of text.match(TRIES)) {
      const line = make("span");
      for (const word of some) {
        const token = make("span", "", make("i"), make("b", "", minus(word)));
        set(token, credit[t]);
        each(token, t++, word);
        line.append(token);
      }
      whole.append(line);
    }
    return whole;
  };
  const set = (token, credit) => {
    token.classList.toggle("up", credit > 0);
    token.classList.toggle("down", credit < 0);
    token.firstChild.style.setProperty("--t", Math.min(Math.abs(credit) / most, 1));
  };

  // ---- the page -----------------------------------------------------------------------

  const says = make("p", "share-says"), rows = make("div", "share-rows");
  const own = make("div", "share-row share-own"), note = make("p", "share-note", words.note);
  const how = make("p", "share-note");
  const picks = make("div", "share-picks"), send = make("div", "share-do");
  says.setAttribute("role", "status");
  picks.setAttribute("role", "group");
  picks.setAttribute("aria-label", words.pick);
  let tokens = [], ends = {};

  const credit = () => given.map((level) => level / levels);
  const end = (name) => {
    const [angle, rate] = ends[name], { measured, [name]: row = credit() } = responses[place].rows;
    const c = cosine(row, measured);
    if (!open || row === measured) angle.innerHTML = "";
    else angle.innerHTML = Number.isNaN(c) ? words.none : needle(c) + fill(words.cosine, shown(c));
    const rates = learned?.[name];
    rate.innerHTML = rates ? curve(rates) + fill(words.after, shown(100 * rates.at(-1), 0)) : "";
  };
  const row = (name, label, text, outputs) => {
    ends[name] = outputs;
    const said = make("span", "", make("b", "", label), make("small", "", text));
    return make("p", "", said, ...outputs);
  };

  const show = () => { // another response, or the rows come
    const { text, score, rows: found } = responses[place];
    [...picks.children].forEach((one, n) => one.setAttribute("aria-pressed", n === place));
    tokens = [];
    ends = {};
    const head = row("you", words.you, score ? words.right : words.wrong, [make("output"), make("output")]);
    own.replaceChildren(head, strip(text, credit(), (token, t, word) => {
      const facts = { role: "slider", "aria-orientation": "vertical", "aria-valuemin": -1,
        "aria-valuemax": 1, "aria-label": fill(words.token, word, t + 1), tabindex: t ? -1 : 0 };
      for (const [name, value] of Object.entries(facts)) token.setAttribute(name, value);
      tokens.push(token);
    }));
    rows.replaceChildren();
    play.classList.toggle("open", open);
    if (open)
      for (const name of ROWS) {
        const label = name === "measured" ? words.measured : name;
        const line = make("div", "share-row", row(name, label, words.says[name], [make("output"), make("output")]));
        line.append(strip(text, found[name]));
        rows.append(line);
      }
    send.hidden = note.hidden = how.hidden = !open;
    refresh();
  };
  const refresh = () => {
    const mine = credit();
    tokens.forEach((token, t) => {
      set(token, mine[t]);
      token.setAttribute("aria-valuenow", mine[t]);
    });
    Object.keys(ends).forEach(end);
    for (const line of rows.querySelectorAll(".share-strip"))
      line.querySelectorAll("i").forEach((bar, t) => {
        bar.classList.toggle("mine", mine[t] !== 0);
        bar.style.setProperty("--y", mine[t] / most);
      });
    how.textContent = learned ? words.trained : "";
    says.textContent = learned ? won() : open ? moral() : "";
    says.classList.toggle("won", Boolean(learned));
  };
  const percent = (rate) => shown(100 * rate, 0);
  const won = () => fill(words.won, percent(learned.you[0]),
    ...["you", "PPO", "GRPO", "measured"].map((name) => percent(learned[name].at(-1))));
  const moral = () => { // how few tokens decide, and how near that was
    const { measured, PPO, GRPO } = responses[place].rows, sizes = measured.map(Math.abs);
    const all = sizes.reduce((sum, x) => sum + x, 0);
    let few = 0, sum = 0;
    for (const size of sizes.sort((a, b) => b - a))
      if (sum < 0.9 * all) {
        sum += size;
        few++;
      }
    const near = [credit(), PPO, GRPO].map((row) => cosine(row, measured));
    return fill(words.moral, few, ...near.map((c) => (Number.isNaN(c) ? "–" : shown(c))), sizes.length);
  };
  const change = (t, level) => {
    const kept = Math.max(-levels, Math.min(levels, level));
    if (given[t] === kept) return;
    given[t] = kept;
    learned = null;
    refresh();
    if (open) address();
  };
  const code = () => `#share=${encode(place, given, levels)}`;
  const address = () => history.replaceState(history.state, "", code());
  const choose = (n, levelsGiven) => {
    place = n;
    given = levelsGiven ?? Array(lengths[n]).fill(0);
    learned = null;
    open = Boolean(levelsGiven);
    show();
  };
  const ready = () => {
    const some = given.some(Boolean);
    if (!some) says.textContent = words.first;
    return some;
  };
  const compare = () => {
    if (!ready()) return;
    open = true;
    learned = null;
    show();
    for (const bar of rows.querySelectorAll("i")) { // they slide in from nothing
      const tall = bar.style.getPropertyValue("--t"), line = bar.style.getPropertyValue("--y");
      bar.style.setProperty("--t", 0);
      bar.style.setProperty("--y", 0);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        bar.style.setProperty("--t", tall);
        bar.style.setProperty("--y", line);
      }));
    }
    address();
  };
  const train = () => {
    if (!ready()) return;
    const learn = () => {
      if (!open) compare();
      const one = responses[place];
      learned = { you: globalThis.shareTrain(one, credit(), steps) };
      for (const name of ROWS) learned[name] = globalThis.shareTrain(one, one.rows[name], steps);
      refresh();
    };
    if (globalThis.shareTrain) return learn();
    const script = make("script");
    script.src = `${root}_static/share-train.js`;
    script.onload = learn;
    script.onerror = () => (says.textContent = words.failed);
    document.body.append(script);
  };

  // ---- sent on ------------------------------------------------------------------------

  const link = () => location.href.split("#")[0] + code();
  const lines = () => {
    const { text, score, rows: found } = responses[place], mine = credit();
    const others = ["PPO", "GRPO"].map((name) => `${name} ${shown(cosine(found[name], found.measured))}`);
    return [
      fill(words.result, score ? words.right : words.wrong), ...squares(text, given).split("\n"),
      learned ? won() : fill(words.closest, shown(cosine(mine, found.measured)), others.join(", ")),
    ];
  };
  const done = (button) => { // answers at the pressed button
    const was = button.textContent;
    if (was === words.copied) return;
    button.textContent = words.copied;
    setTimeout(() => (button.textContent = was), COPIED);
  };
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
      done(button);
    } catch {
      says.textContent = `${words.refused} ${text}`;
    }
  };
  const picture = () => {
    const { text } = responses[place], parts = text.match(TRIES), side = 40, mine = credit();
    const [head, ...rest] = lines(), canvas = make("canvas"), style = getComputedStyle(box);
    const colour = (name) => style.getPropertyValue(name).trim();
    const widest = Math.max(16, ...parts.map((part) => part.length));
    canvas.width = side * (widest + 1);
    canvas.height = side * (parts.length * 1.6 + 2.4);
    const pen = canvas.getContext("2d");
    pen.fillStyle = colour("--tc-paper");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const write = (what, x, y, size) => {
      pen.fillStyle = colour("--tc-ink");
      pen.font = `${size}px ${style.fontFamily}`;
      pen.fillText(what, x, y, canvas.width - side);
    };
    write(head, side / 2, side * 0.85, 22);
    let t = 0;
    parts.forEach((part, n) => [...part].forEach((word, k) => {
      const x = side * (k + 0.5), y = side * (1.3 + 1.6 * n), level = mine[t++];
      pen.globalAlpha = level ? 0.35 + 0.65 * Math.abs(level) : 1;
      pen.fillStyle = colour(level > 0 ? "--tc-up" : level < 0 ? "--tc-down" : "--tc-line");
      pen.fillRect(x + 2, y, side - 4, side - 4);
      pen.globalAlpha = 1;
      pen.textAlign = "center";
      write(word, x + side / 2, y + side * 1.35, 18);
      pen.textAlign = "left";
    }));
    write(rest.at(-1), side / 2, canvas.height - side * 0.4, 20);
    return canvas;
  };
  const copyPicture = async (button) => {
    const canvas = picture();
    const file = new Promise((done) => canvas.toBlob(done, "image/png"));
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": file })]);
      done(button);
    } catch {
      const a = make("a");
      a.download = "token-credit.png";
      a.href = canvas.toDataURL("image/png");
      a.click();
      says.textContent = words.saved;
    }
  };

  // ---- at work ------------------------------------------------------------------------

  responses.forEach(({ text, score }, n) => {
    const pick = button(words.names[n], () => choose(n));
    pick.append(make("small", "", `${minus(text)} → ${score}`));
    picks.append(pick);
  });
  send.append(
    button(words.copy, (it) => copy([...lines(), link()].join("\n"), it)),
    button(words.picture, copyPicture), button(words.link, (it) => copy(link(), it)));
  play.replaceChildren(picks, own, make("p", "share-keys", words.keys), make("div", "share-do",
    button(words.compare, compare, "share-main"), button(words.train, train),
    button(words.clear, () => choose(place))), says, rows, note, how, send);

  own.addEventListener("keydown", (event) => {
    const t = tokens.indexOf(event.target);
    const moves = { ArrowUp: 1, ArrowDown: -1, ArrowRight: "next", ArrowLeft: "before" };
    const move = moves[event.key];
    if (t < 0 || !move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (typeof move === "number") return change(t, given[t] + move);
    const to = tokens[t + (move === "next" ? 1 : -1)];
    if (to) focus(to);
  });
  const focus = (token) => {
    for (const one of tokens) one.tabIndex = one === token ? 0 : -1;
    token.focus({ preventScroll: true });
  };
  let line = null; // of tokens, while one drags
  const drag = (event) => {
    const token = line.find((one) => {
      const { left, right } = one.getBoundingClientRect();
      return event.clientX >= left && event.clientX < right;
    });
    if (!token) return;
    const { top, height } = token.firstChild.getBoundingClientRect();
    const up = (top + height / 2 - event.clientY) / (height / 2);
    change(tokens.indexOf(token), Math.round(up * most * levels));
  };
  own.addEventListener("pointerdown", (event) => {
    const token = event.target.closest("[role=slider]");
    if (!token || event.button) return;
    event.preventDefault();
    line = [...token.parentElement.children];
    own.setPointerCapture(event.pointerId);
    focus(token);
    drag(event);
  });
  own.addEventListener("pointermove", (event) => line && drag(event));
  for (const end of ["pointerup", "pointercancel"]) own.addEventListener(end, () => (line = null));

  const arrive = () => {
    if (!location.hash.startsWith("#share=")) return;
    const found = decode(location.hash.slice(7), lengths, levels);
    choose(found?.place ?? 0, found?.given);
    if (!found) says.textContent = words.bad;
    box.scrollIntoView();
  };
  choose(0);
  arrive();
  addEventListener("hashchange", arrive);
})();
