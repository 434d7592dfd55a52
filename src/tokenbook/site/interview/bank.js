"use strict";
// The interview bank: filter by level, chapter and road, a random question, what was known.
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
  const show = () => {
    const level = bank.querySelector("[name=bank-level]:checked").value;
    const wanted = questions.filter(({ dataset }) =>
      (!level || dataset.level === level) && (!chapter.value || dataset.chapter === chapter.value) &&
      !(road.checked && "side" in dataset));
    for (const question of questions) {
      question.hidden = !wanted.includes(question) || (open.checked && known(question));
      question.classList.toggle("known", known(question));
      question.querySelector(".bank-knew").textContent = bank.dataset[known(question) ? "forget" : "knew"];
    }
    for (const section of document.querySelectorAll("article section section")) {
      const inside = [...section.querySelectorAll("details.qa")];
      section.hidden = inside.length > 0 && inside.every((question) => question.hidden);
    }
    const counts = [wanted.filter(known).length, wanted.length];
    says.textContent = bank.dataset.score.replace(/\{\}/g, () => counts.shift());
  };
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
  bank.addEventListener("change", show);
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
  target();
})();
