// A way through the book: it lights the contents and leads from each step to the next. What
// it knows of the book comes in a file of its own, which only who is on a way asks for.
"use strict";
(() => {
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (key, value) => {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch { /* storage is off */ }
  };
  const all = (what, from = document) => [...from.querySelectorAll(what)];
  const make = (name, className, text = "") => {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const fill = (text, ...values) => text.replace(/\{\}/g, () => values.shift());
  const root = document.documentElement.dataset.content_root ?? "./";
  const OFF = /^(in-the-wild|exercise|interview-questions)/; // in a chapter, not on its road
  const BAR = 96; // px below the top of the window: header, and where a link puts a heading
  const page = document.body.dataset.page;

  const withData = (then) => {
    const script = document.createElement("script");
    script.src = `${root}_static/path-data.js`;
    script.onload = () => then(window.pathData);
    document.body.append(script);
  };

  // A path of one's own is said by its chapters, each with the keys of its sections or
  // none, which is the whole main road: 0.2-k3f-9ab
  const ownSteps = (spec, { chapters }) => spec.split(".").flatMap((part) => {
    const [number, ...keys] = part.split("-");
    const chapter = chapters.find(([n]) => String(n) === number);
    if (!chapter) return [];
    const [, place, , title, minutes, sections] = chapter;
    if (!keys.length) return [[place, "", title, minutes]];
    return sections.filter(([key]) => keys.includes(key)).map(([, ...rest]) => [place, ...rest]);
  });
  const found = (name, data) => {
    if (!name?.startsWith("own:")) return data.paths[name];
    const steps = ownSteps(name.slice(4), data);
    return steps.length ? { name: data.words.own, steps } : undefined;
  };
  const address = ([place, anchor], query = "") =>
    place === page ? `#${anchor}` : `${root}${place}.html${query}${anchor ? `#${anchor}` : ""}`;
  const time = (minutes, { words }) => minutes < 115
    ? fill(words.minutes, 5 * Math.max(1, Math.round(minutes / 5)))
    : fill(words.hours, Math.round(minutes / 30) / 2);

  // ---- on every page: the contents, and the way on ------------------------------------

  const follow = (path, data) => {
    const { words } = data, { steps } = path, nav = document.querySelector(".book-nav");
    const here = steps.filter(([place]) => place === page), number = (step) => steps.indexOf(step);
    // A path may come to a page again: where one is, the address says, or the step before.
    const hash = decodeURIComponent(location.hash.slice(1)), was = +recall("path step");
    const at = number(here.find(([, anchor]) => anchor === hash) ?? here.find((step) => number(step) >= was) ?? here[0]);
    const run = here.filter((step) => steps.slice(...[at, number(step)].sort((a, b) => a - b)).every(([place]) => place === page));
    const link = (step, className) => {
      const a = make("a", className);
      a.href = address(step);
      a.innerHTML = step[2];
      return a;
    };
    const said = (text) => text + (text.endsWith("：") ? "" : " ");
    const minutes = (step) => make("small", "", ` ${fill(words.minutes, step[3])}`);
    if (nav) {
      nav.classList.add("on-path");
      const box = make("nav", "path-here"), leave = make("button", "", words.leave);
      leave.type = "button";
      leave.addEventListener("click", () => {
        remember("path", null);
        remember("path step", null);
        location.reload();
      });
      box.ariaLabel = path.name;
      box.append(make("b", "", path.name));
      if (here.length) {
        box.append(make("span", ""));
      } else {
        const way = make("span", "", said(words.back));
        way.append(link(steps[was] ?? steps[0], ""));
        box.append(way);
      }
      box.append(leave);
      nav.closest(".sidebar-primary-item").before(box); // it stands while the contents scroll
      if (here.length) {
        const short = Object.assign(make("span", "path-step"), { ariaHidden: "true" });
        document.querySelector(".header-article-items__start")?.append(short);
        // The step is the last that began above; a part far below is not asked, which would lay it out.
        const above = (element) => element?.getBoundingClientRect().top <= BAR;
        const began = ([, anchor]) => {
          const part = document.getElementById(anchor);
          return !anchor || (above(part?.closest("article > section > section")) && above(part));
        };
        let shown;
        const look = (now = number(run.findLast(began) ?? run[0])) => {
          if (now === shown) return;
          shown = now;
          remember("path step", now);
          box.querySelector("span").textContent = fill(words.step, now + 1, steps.length);
          short.textContent = `${now + 1}/${steps.length}`;
        };
        look(at);
        addEventListener("scroll", () => requestAnimationFrame(() => look()), { passive: true });
      }
      for (const entry of all("a[data-page]", nav)) {
        const inside = steps.filter(([place]) => place === entry.dataset.page);
        entry.classList.toggle("lit", inside.length > 0);
        if (inside.length) entry.dataset.path = fill(words.minutes, inside.reduce((sum, step) => sum + step[3], 0));
      }
      const whole = here.some(([, anchor]) => !anchor);
      for (const entry of all(".section-nav li", nav)) {
        const to = entry.querySelector("a").hash.slice(1);
        const holds = (anchor) => document.getElementById(to)?.contains(document.getElementById(anchor));
        const on = here.some(([, anchor]) => anchor && holds(anchor)) || (whole && !entry.matches(".side, .side *") && !OFF.test(to));
        entry.classList.toggle("lit", on);
      }
    }
    // At the foot of the page the way is that of the path, too.
    const other = ([place]) => place !== page;
    const around = here.length ? { "left-prev": steps.slice(0, at).findLast(other), "right-next": steps.slice(at).find(other) } : {};
    for (const [which, step] of Object.entries(around)) {
      const foot = document.querySelector(`.prev-next-area .${which}`);
      if (!foot || !step) continue;
      foot.href = address(step);
      foot.querySelector(".prev-next-subtitle").append(make("span", "path-foot", ` · ${path.name}`));
      foot.querySelector(".prev-next-title").innerHTML = step[2];
    }
    for (const step of here) {
      const next = steps[number(step) + 1], box = make("div", "path-next");
      if (next) box.append(said(words.next), link(next, ""), minutes(next));
      else box.append(words.last);
      const section = document.getElementById(step[1] || "three-lines-to-remember") ??
        document.querySelector("article > section");
      const side = [...section.children].find((child, n, { length }) =>
        child.matches("section.side") && [...section.children].slice(n).every((c) => c.matches("section.side")));
      section.insertBefore(box, side ?? null);
    }
  };

  // ---- on the start page: to choose one, or put one together --------------------------

  const go = (name, data) => {
    const path = found(name, data);
    if (!path) return;
    remember("path", name);
    remember("path step", 0);
    // A page opened from a disk may read new storage too late: the address has it.
    location.href = address(path.steps[0], `?follow=${encodeURIComponent(name)}`);
  };

  const own = (box, data, spec) => {
    const texts = box.dataset;
    const wanted = new Map(spec.split(".").filter(Boolean).map((part) => {
      const [number, ...keys] = part.split("-");
      return [number, keys];
    }));
    const list = make("div", "path-tick");
    const tick = (label, minutes, checked) => {
      const row = make("label", ""), input = make("input", ""), text = make("span", "");
      input.type = "checkbox";
      input.checked = checked;
      text.innerHTML = label;
      row.append(input, text, make("i", "", fill(data.words.minutes, minutes)));
      return [row, input];
    };
    const chapters = data.chapters.map(([number, , name, , minutes, sections]) => {
      const keys = wanted.get(String(number)), group = make("details", "");
      const [row, whole] = tick(`<b>${number}</b> ${name}`, minutes, keys?.length === 0);
      const summary = make("summary", "", fill(texts.sections, sections.length));
      const rows = sections.map(([key, , title, took]) => {
        const [line, input] = tick(title, took, keys?.includes(key) ?? false);
        group.append(line);
        return { key, took, input };
      });
      group.prepend(summary);
      group.open = Boolean(keys?.length);
      const both = make("div", "path-chapter");
      both.append(row, group);
      list.append(both);
      whole.addEventListener("change", () => rows.forEach(({ input }) => (input.checked = false)));
      for (const { input } of rows) input.addEventListener("change", () => (whole.checked = false));
      return { number, minutes, whole, rows };
    });
    const said = make("p", ""), sum = make("b", ""), link = make("a", "", texts.link);
    const start = make("button", "", texts.follow);
    start.type = "button";
    said.setAttribute("role", "status");
    said.append(sum, " ", link);
    const show = () => {
      const parts = [];
      let total = 0;
      for (const { number, minutes, whole, rows } of chapters) {
        const some = rows.filter(({ input }) => input.checked);
        if (whole.checked) parts.push(number);
        else if (some.length) parts.push([number, ...some.map(({ key }) => key)].join("-"));
        total += whole.checked ? minutes : some.reduce((all, { took }) => all + took, 0);
      }
      const name = parts.join(".");
      said.hidden = start.hidden = !name;
      sum.textContent = fill(texts.sum, time(total, data));
      link.href = `?path=${name}#path-own`;
      start.onclick = () => go(`own:${name}`, data);
    };
    list.addEventListener("change", show);
    box.append(make("p", "", texts.tick), list, said, start);
    show();
  };

  const choose = () => {
    const box = document.querySelector(".path-own"), asked = new URLSearchParams(location.search).get("path") ?? "";
    const now = recall("path");
    for (const button of all(".paths button[data-path]")) {
      button.hidden = false;
      button.addEventListener("click", () => withData((data) => go(button.dataset.path, data)));
      button.closest("details").classList.toggle("followed", now === button.dataset.path);
    }
    const spec = asked || (now?.startsWith("own:") ? now.slice(4) : "");
    const put = () => withData((data) => own(box, data, spec));
    box.hidden = false;
    box.classList.toggle("followed", Boolean(now?.startsWith("own:")));
    box.addEventListener("toggle", put, { once: true });
    if (asked) {
      box.open = true;
      box.querySelector("summary").scrollIntoView();
    }
  };

  addEventListener("DOMContentLoaded", () => {
    if (document.querySelector(".paths")) choose();
    const url = new URL(location.href), told = url.searchParams.get("follow"), name = told ?? recall("path");
    if (told) {
      remember("path", told);
      url.searchParams.delete("follow");
      history.replaceState(history.state, "", url);
    }
    if (name) withData((data) => found(name, data) && follow(found(name, data), data));
  });
})();
