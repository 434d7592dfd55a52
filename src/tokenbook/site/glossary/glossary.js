"use strict";
// The glossary: words leave the rows that have all of them, and stand in the address, so that
// a link can say what was looked for. What a link leads to is always listed.
(() => {
  const bar = document.querySelector(".glossary-filter"), says = bar.querySelector("[role=status]");
  const field = bar.querySelector("input");
  const rows = [...document.querySelectorAll("article table tbody tr")];
  const low = rows.map((row) => row.textContent.toLowerCase());
  const sections = [...document.querySelectorAll("article section section")].filter((one) => one.querySelector("table"));
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    rows.forEach((row, n) => (row.hidden = !words.every((word) => low[n].includes(word))));
    for (const section of sections)
      section.hidden = ![...section.querySelectorAll("tbody tr")].some((row) => !row.hidden);
    const count = rows.filter((row) => !row.hidden).length;
    says.textContent = field.value.trim() ? (count ? bar.dataset.says : bar.dataset.none).replace("{}", count) : "";
  };
  const note = () => {
    const address = new URL(location.href), said = field.value.trim();
    if (said) address.searchParams.set("find", said);
    else address.searchParams.delete("find");
    history.replaceState(history.state, "", address);
  };
  const target = () => {
    const to = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!to?.closest("[hidden]")) return;
    field.value = "";
    show();
    to.scrollIntoView();
  };
  field.addEventListener("input", () => (show(), note()));
  addEventListener("hashchange", target);
  field.value = new URLSearchParams(location.search).get("find") ?? "";
  bar.hidden = false;
  show();
  target();
})();
