"use strict";
// The index of the symptoms: words leave what has all of them, beside the choice of a quantity,
// which the style sheet makes alone. It counts the shown ones, and offers a way back from none. The
// choice is in the address, so that it can be sent. A symptom is folded to its title and ends with a
// link to its card; the keys of a quantity are folded, too; `book.js` opens the target of a link.
(() => {
  const finder = document.querySelector(".finder"), bar = finder.querySelector(".finder-words");
  const field = bar.querySelector("input"), says = bar.querySelector("[role=status]");
  const back = says.querySelector("button"), elsewhere = says.querySelector("a"), said = says.firstChild;
  const item = (id) => document.querySelector(`.book-nav a[href="#${id}"]`)?.closest("li");
  const symptoms = [...finder.querySelectorAll("li")].map((card) => {
    const text = document.getElementById(card.querySelector("a").hash.slice(1));
    return { card, text, low: text.textContent.toLowerCase(), of: card.dataset.of.split(" "), item: item(text.id) };
  });
  const make = (name, className, ...parts) => {
    const element = document.createElement(name);
    element.className = className;
    element.append(...parts);
    return element;
  };
  const folded = (title, parts) =>
    make("details", "symptom", make("summary", "", ...title), make("section", "side-body", ...parts));
  for (const { card, text } of symptoms) {
    const title = text.querySelector("h3"), up = make("a", "to-card", bar.dataset.up);
    card.querySelector("a").id = `card-${text.id}`;
    up.href = `#card-${text.id}`;
    title.remove();
    text.append(folded([title], [...text.childNodes, up]));
  }
  for (const list of document.querySelectorAll("dl.log-keys")) {
    const quantities = [];
    for (const item of list.children)
      if (item.matches("dt")) { // its link stands with what is folded
        const keys = make("ul", "", make("li", "", item.querySelector("a")));
        quantities.push([item.querySelectorAll("[id], strong"), keys]);
      } else quantities.at(-1)[1].append(make("li", "", ...item.childNodes));
    list.replaceWith(...quantities.map(([name, keys]) => folded(name, [keys])));
  }
  const groups = [...finder.querySelectorAll("div[data-of]")].map((box) => {
    const inside = symptoms.filter(({ card }) => box.contains(card)), text = inside[0].text.parentElement;
    return { box, text, inside, item: item(text.id) };
  });
  const list = (shown, ...parts) => {
    for (const part of parts) part?.classList.toggle("unlisted", !shown);
  };
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/), quantity = finder.querySelector(":checked").id.slice(3);
    for (const one of symptoms) {
      one.shown = (quantity === "all" || one.of.includes(quantity)) && words.every((word) => one.low.includes(word));
      list(one.shown, one.card, one.text, one.item);
    }
    for (const { box, text, inside, item } of groups) list(inside.some(({ shown }) => shown), box, text, item);
    const count = symptoms.filter(({ shown }) => shown).length;
    said.textContent = (count ? bar.dataset.says : bar.dataset.none).replace("{}", count);
    back.hidden = count === symptoms.length;
    elsewhere.hidden = count > 0;
    elsewhere.search = `q=${encodeURIComponent(field.value.trim())}`;
  };
  const note = () => {
    const address = new URL(location.href), of = finder.querySelector(":checked").id.slice(3);
    for (const [name, value] of [["find", field.value.trim()], ["of", of === "all" ? "" : of]])
      value ? address.searchParams.set(name, value) : address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
  };
  const all = () => {
    field.value = "";
    finder.querySelector("#of-all").checked = true;
    show();
    note();
  };
  const target = () => { // the target of a link is listed
    const to = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!to?.closest(".unlisted")) return;
    all();
    to.scrollIntoView();
  };
  field.addEventListener("input", () => (show(), note()));
  finder.addEventListener("change", () => (show(), note()));
  back.addEventListener("click", () => (all(), field.focus()));
  addEventListener("hashchange", target);
  const asked = new URLSearchParams(location.search);
  field.value = asked.get("find") ?? "";
  const of = document.getElementById(`of-${asked.get("of")}`);
  if (finder.contains(of)) of.checked = true;
  bar.hidden = false;
  show();
  target();
})();
