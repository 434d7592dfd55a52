"use strict";
// A chapter in a lecture room: its main road as slides, made of the page itself. A slide shows the
// page's own elements, moved onto the stage and back, so figures stay live and predictions are
// asked; beside it, on "n", the paragraphs around it.
(() => {
  const words = JSON.parse(document.getElementById("slides-words").textContent);
  const article = document.querySelector("article.bd-article");
  const chapter = article.querySelector(":scope > section");
  const FOLDED = ["setup", "checked", "picture", "hide-cell", "hide-input", "remove-input"];
  const CODE = `.cell:has(> .cell_input)${FOLDED.map((t) => `:not(.tag_${t})`).join("")}`;
  const SHOWN = `.cell.predicted, .explorer, figure, .math.display, .pst-scrollable-table-container:not(:has(> .printed)), ${CODE}`;
  const AROUND = "p, ul, ol";
  const sentence = (p) => {
    const copy = p.cloneNode(true), ends = /[.!?](?=\s)|[。！？]/;
    const walk = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    for (let text; (text = walk.nextNode()); ) {
      const end = text.parentElement.closest(".math, code") ? -1 : text.data.search(ends);
      if (end < 0) continue;
      const rest = document.createRange();
      rest.setStart(text, end + 1);
      rest.setEndAfter(copy.lastChild);
      rest.deleteContents();
      break;
    }
    return copy;
  };
  const near = (el, step) => {
    const found = [];
    for (let n = el; (n = n[step]) && n.matches(AROUND) && found.length < 2; ) found.push(n);
    return step === "previousElementSibling" ? found.reverse() : found;
  };
  const heads = (section) => {
    const found = [];
    for (let s = section; s && s !== chapter; s = s.parentElement.closest("section"))
      found.unshift(s.querySelector(":scope > h2, :scope > h3, :scope > h4"));
    return found.filter(Boolean).map((h) => {
      const copy = h.cloneNode(true);
      for (const link of copy.querySelectorAll(".headerlink")) link.remove();
      return copy.textContent.trim();
    });
  };
  const kind = (el) =>
    el.matches(".predicted") ? "prediction"
      : el.matches(".explorer, figure") ? "figure"
        : el.matches(".math") ? "equation"
          : el.matches(".cell") ? "code" : "table";

  // The slides of the chapter, in order: what each shows, and its notes.
  function plan() {
    const slides = [{ kind: "title", heads: [], show: [], notes: [] }];
    const add = (el) => {
      if (el.closest(".side, details, .ex-live") || el.parentElement.closest(".predicted, .explorer")) return;
      if (kind(el) === "code" && el.querySelector(".explorer, figure")) return;
      if (el.matches(".math") && !el.querySelector(".eqno")) return;
      const block = el.closest(".cell") || el;
      const below = near(block, "nextElementSibling");
      const said = el.matches(".math") && below[0]?.matches("p") ? [sentence(below[0])] : [];
      const notes = [...near(block, "previousElementSibling"), ...below];
      slides.push({ kind: kind(el), heads: heads(el.closest("section")), show: [el], said, notes });
    };
    for (const el of chapter.querySelectorAll(SHOWN)) // the part before the first section
      if (el.closest("section") === chapter) add(el);
    for (const section of chapter.querySelectorAll(":scope > section:not(.side)")) {
      const id = section.id, first = slides.length;
      if (id === "in-the-wild" || id === "interview-questions") continue;
      if (id === "exercises") {
        const titles = [...section.querySelectorAll(":scope > section > h3")];
        slides.push({ kind: "exercises", heads: heads(section), list: titles, show: [], notes: [] });
        continue;
      }
      if (id === "three-lines-to-remember") {
        const show = [...section.children].filter((e) => e.matches("ol, ul, p"));
        slides.push({ kind: "lines", heads: heads(section), show, notes: [] });
        continue;
      }
      section.querySelectorAll(SHOWN).forEach(add);
      const p = [...section.querySelectorAll("p, li")].find((e) => !e.closest(".side, details"));
      if (slides.length === first && p)
        slides.push({ kind: "sentence", heads: heads(section), show: [], said: [sentence(p)], notes: [p] });
    }
    return slides;
  }

  const make = (tag, name, ...inside) => {
    const el = document.createElement(tag);
    el.className = name;
    el.append(...inside);
    return el;
  };

  // A slide as an element; `give` puts what it took from the page back.
  function drawn(slide) {
    const away = [];
    const take = (el) => {
      const place = document.createComment("slide");
      el.replaceWith(place);
      away.push([place, el]);
      return el;
    };
    const [title, ...below] = slide.heads;
    const body = make("section", "slide-body");
    if (slide.kind === "title") {
      const asks = article.querySelector(".chapter-asks"), thread = article.querySelector(".chapter-thread");
      const h1 = chapter.querySelector(":scope > h1").cloneNode(true);
      for (const link of h1.querySelectorAll(".headerlink")) link.remove();
      body.append(make("h1", "slide-title", h1.textContent.trim()));
      for (const el of [asks, thread]) if (el) body.append(el.cloneNode(true));
    } else {
      if (title) body.append(make("h2", "slide-title", title));
      if (below.length) body.append(make("p", "slide-below", below.join(" · ")));
      for (const el of slide.show) body.append(take(el));
      for (const el of slide.said || []) body.append(el);
      if (slide.list)
        body.append(make("ul", "", ...slide.list.map((h) => make("li", "", h.firstChild.textContent))));
    }
    const notes = make("aside", "slide-notes", ...slide.notes.map((p) => p.cloneNode(true)));
    notes.setAttribute("aria-label", words.notes);
    for (const copy of body.querySelectorAll(".side-fold, .headerlink, .held")) copy.hidden = true;
    return {
      el: make("section", `slide ${slide.kind}`, body, notes),
      give: () => away.forEach(([place, el]) => place.replaceWith(el)),
    };
  }

  const root = document.documentElement;
  const style = document.head.appendChild(document.createElement("link"));
  style.rel = "stylesheet";
  style.href = new URL("slides.css", document.getElementById("slides-script").src);

  function print(slides) {
    const stage = make("article", "bd-article slides-stage");
    for (const slide of slides) stage.append(drawn(slide).el);
    document.body.append(stage);
    root.classList.add("slides-print");
    style.addEventListener("load", () => (root.dataset.slides = slides.length));
  }

  function present(slides) {
    const dialog = make("dialog", "slides");
    const stage = dialog.appendChild(make("article", "bd-article slides-stage"));
    const bar = dialog.appendChild(make("p", "slides-bar"));
    const progress = bar.appendChild(document.createElement("progress"));
    const count = bar.appendChild(make("span", ""));
    const hint = bar.appendChild(make("span", "slides-hint", words.keys));
    progress.max = slides.length;
    progress.setAttribute("aria-label", words.progress);
    count.setAttribute("role", "status");
    let at = 0, now = null;
    const show = (n) => {
      now?.give();
      at = Math.max(0, Math.min(slides.length - 1, n));
      now = drawn(slides[at]);
      stage.replaceChildren(now.el);
      progress.value = at + 1;
      count.textContent = `${at + 1} / ${slides.length}`;
      history.replaceState(null, "", `#slide-${at + 1}`);
      dispatchEvent(new Event("resize"));
    };
    const step = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
    // Of the document: a choice that is made is disabled, and then nothing has the focus.
    const pressed = (event) => {
      const own = event.target.closest("input, select, textarea, [role=slider]");
      const clicks = event.key === " " && event.target.closest("button, summary, a");
      if (own || clicks || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in step) show(at + step[event.key]);
      else if (event.key === "Home") show(0);
      else if (event.key === "End") show(slides.length - 1);
      else if (event.key === "n") dialog.classList.toggle("with-notes");
      else if (event.key === "f")
        document.fullscreenElement ? document.exitFullscreen() : dialog.requestFullscreen?.();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    dialog.addEventListener("close", () => {
      document.removeEventListener("keydown", pressed);
      now.give();
      dialog.remove();
      history.replaceState(null, "", location.pathname + location.search);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.tabIndex = -1;
    dialog.focus();
    show(Number(/^#slide-(\d+)$/.exec(location.hash)?.[1] || 1) - 1);
  }

  const ready = () => {
    const slides = plan();
    new URLSearchParams(location.search).get("slides") === "print" ? print(slides) : present(slides);
  };
  window.showSlides = ready;
  ready();
})();
