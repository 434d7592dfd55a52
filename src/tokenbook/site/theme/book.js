// Small courtesies of every page, which it lives without: covers, cards, places, keys.
"use strict";
(() => {
  const SCROLLING =
    "pre:not([aria-hidden]), .cell_output > .output, .math-scroll, .pst-scrollable-table-container";
  const BAR = 96; // px below the top of the window: header, and where a link puts a heading
  const SMALLEST = 0.66; // of its size: a formula that would be cut is set smaller
  const CARD = 120; // px of scrolling, and a card is gone
  const AIR = 24; // px kept free under an answer, and above the end of the contents
  const STOOD = 20; // frames in which nothing was pushed any more
  const SCROLLED = 600; // ms, and the window stands again
  const SLOW = 150; // ms to lay out a section: where one takes longer, the rest wait
  const READ = 0.95; // of the minutes of its road, and a chapter counts as read

  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (key, value) => {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch { /* storage is off */ }
  };
  const all = (what, from = document) => [...from.querySelectorAll(what)];
  const top = (element) => element.getBoundingClientRect().top;
  const page = () => document.body.dataset.page; // one name for all editions

  // ---- where the reader is -----------------------------------------------------------

  // The last of some elements in order that begins above the line, or undefined. Asking a
  // part that is not laid out yet would lay it out, so whole sections are asked first.
  const lastAbove = (elements, line = BAR) => elements.findLast((e) => top(e) <= line);

  // What a section holds: of a side, what is folded in it, if it is open.
  const inside = (section, what) =>
    all(`:scope > ${what}, :scope > details[open] > .side-body > ${what}`, section);

  const here = () => {
    let [section] = all("article > section"), inner = section;
    while (inner) {
      section = inner;
      inner = lastAbove(inside(section, "section[id]").filter((e) => e.checkVisibility())); // not filtered out
    }
    return section;
  };

  // Blocks that all editions of a section share, in order: marks to measure a place by.
  const marks = (section) =>
    inside(section, ":is(.cell, .math, table, .explorer, details:not(.side-fold, .symptom), section)");

  // A place is a section and how far between which of its blocks the line is: in pixels
  // close under a block, so that a heading comes back where it was, and in parts of the way.
  const place = () => {
    const section = here();
    if (!section) return { whole: true, y: scrollY };
    const edges = [section, ...marks(section)].map(top);
    const n = Math.max(0, edges.findLastIndex((y) => y <= BAR));
    const end = edges[n + 1] ?? section.getBoundingClientRect().bottom;
    const whole = section.parentElement.matches("article");
    const past = BAR - edges[n];
    return { whole, id: section.id, n, past, part: past / Math.max(1, end - edges[n]) };
  };

  let touches = 0; // by the reader, who from then on says where the page is
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(kind, () => touches++, { passive: true });

  const goTo = ({ id, n, past, part, y }) => {
    if (!id) return scrollTo(0, y);
    const section = document.getElementById(id), before = touches;
    let still = 0, at = scrollY; // parts are laid out as they come into view, and push the rest
    const settle = () => {
      if (touches !== before) return;
      const edges = [section, ...marks(section)].map(top);
      const from = edges[Math.min(n, edges.length - 1)];
      const end = edges[n + 1] ?? section.getBoundingClientRect().bottom;
      const way = past < BAR ? past : part * (end - from);
      const inside = Math.max(1, Math.min(way, end - from - 1)); // not into the next block
      const off = from + inside - BAR, stood = scrollY;
      if (still && stood !== at && Math.abs(off) > innerHeight / 2) return; // a script went elsewhere
      if (Math.abs(off) > 0.5) scrollBy({ top: off, behavior: "instant" });
      at = scrollY;
      still = at === stood ? still + 1 : 0;
      if (still < STOOD) requestAnimationFrame(settle);
    };
    if (section) settle();
  };

  // What a link leads to stays where the browser put it, whatever is laid out above it.
  const toHash = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.closest("article") || !target.checkVisibility()) return;
    const past = BAR - parseFloat(getComputedStyle(target).scrollMarginTop);
    goTo({ id: target.id, n: 0, past });
  };

  // How the dials of each figure stand, as a link in the text would say it.
  const figures = () => all(".explorer:has(> script)");
  const settings = () => figures().map(({ data: { k, v, s } }) =>
    k.map((key, n) => `${key}=${v[n][s[n]]}`).join());

  const keepPlace = () => {
    for (const link of all("a.language-switch"))
      link.addEventListener("click", () => {
        const now = place();
        link.hash = now.whole ? "" : now.id;
        remember("language", link.dataset.language);
        try { sessionStorage.setItem("place", JSON.stringify([page(), now, settings()])); } catch { /* off */ }
      });
    let stored = null;
    try {
      stored = JSON.parse(sessionStorage.getItem("place"));
      sessionStorage.removeItem("place");
    } catch { /* off */ }
    if (stored?.[0] !== page()) return toHash();
    const { classList } = document.documentElement;
    classList.add("placed"); // nothing flashes: it is the same place
    addEventListener("hashchange", () => classList.remove("placed"));
    const asBuilt = settings();
    stored[2].forEach((setting, i) => asBuilt[i] !== setting && figures()[i]?.set(setting));
    const go = () => goTo(stored[1]);
    openTo(document.getElementById(stored[1].id));
    go();
    if (document.readyState != "complete") addEventListener("load", go);
  };

  // ---- main road and side roads --------------------------------------------------------

  // The reader goes the main road, or through everything; sides set by hand stay as they are.
  const depth = () => recall("depth") ?? "road";
  const sides = () => all(".side-fold");

  // What is led into is unfolded for this visit: a side with what is folded in it, the cell
  // that checks an equation.
  const openTo = (target) => {
    if (!target?.closest("article")) return;
    const own = target.matches(".cell") ? "details.hide" : ":scope > :is(.side-fold, .symptom)";
    for (let fold = target.querySelector(own) ?? target.closest("details"); fold; fold = fold.parentElement.closest("details"))
      fold.open = true;
  };
  const unfold = () => openTo(document.getElementById(decodeURIComponent(location.hash.slice(1))));

  const walk = () => {
    const key = `sides ${page()}`, byHand = new Set(recall(key)?.split(" "));
    const name = (fold) => fold.parentElement.id;
    const stand = () => {
      document.documentElement.classList.toggle("everything", depth() === "all");
      for (const fold of sides()) fold.open = (depth() === "all") !== byHand.has(name(fold));
    };
    const set = (fold, open) => {
      fold.open = open;
      byHand[open === (depth() === "all") ? "delete" : "add"](name(fold));
      remember(key, byHand.size ? [...byHand].join(" ") : null);
    };
    stand();
    for (const fold of sides()) // the whole block of a side, up to what is folded in it
      fold.parentElement.addEventListener("click", (event) => {
        const { target } = event;
        if (target.closest("a, button") || fold.lastElementChild.contains(target)) return;
        event.preventDefault();
        event.stopPropagation(); // one side may hold another
        set(fold, !fold.open);
      });
    document.addEventListener("click", ({ target }) => { // also for the place where one is
      const link = target.closest("a[href^='#']");
      if (link) openTo(document.getElementById(decodeURIComponent(link.hash.slice(1))));
    });
    const [choice] = all(".depth");
    if (!choice) return;
    choice.disabled = false;
    for (const input of all("input", choice)) {
      input.checked = input.value === depth();
      input.addEventListener("change", () => { // what the reader sees stays where it is
        const now = place();
        remember("depth", input.value === "road" ? null : input.value);
        byHand.clear();
        remember(key, null);
        stand();
        all(".predict").forEach((box) => box.dispatchEvent(new Event("depth")));
        goTo(now);
      });
    }
  };

  // ---- contents, progress, what was read ----------------------------------------------

  const follow = () => {
    const nav = document.querySelector(".book-nav"), bar = document.querySelector(".progress-line");
    const chapter = page().startsWith("chapters/");
    const seen = new Set((recall(`seen ${page()}`) ?? "").split(" "));
    // The open chapter and the titles of its neighbours are in view; where its sections are
    // too many for that, the current one is, and is brought to the middle if it was not.
    const keepInView = () => {
      const outer = nav.closest(".sidebar-primary-item"), page = nav.querySelector(".here");
      if (!page) return;
      const frame = outer.getBoundingClientRect(), box = page.getBoundingClientRect();
      const past = Math.min(box.bottom + 60 - frame.bottom, box.top - 40 - frame.top);
      const at = page.querySelector(".section-nav [aria-current]");
      const title = page.querySelector("a");
      if (box.height + 60 > frame.height && at) {
        const line = at.getBoundingClientRect();
        if (line.top < title.getBoundingClientRect().bottom || line.bottom > frame.bottom - AIR)
          outer.scrollTop += line.top - frame.top - (frame.height - line.height) / 2;
      } else if (past > 0 || box.top - 40 < frame.top) outer.scrollTop += past;
      // No name is cut by the upper edge, or by that of the chapter's title, which stays there
      const head = title.getBoundingClientRect();
      const edge = head.top < frame.top + 1 ? head.bottom : frame.top;
      const cut = all("li:not(.here) > a, p", nav).find((row) => row.getBoundingClientRect().bottom > edge + 1);
      outer.scrollTop -= Math.max(0, edge - top(cut));
    };
    const tick = () => {
      for (const link of all("a[data-page]"))
        link.classList.toggle("read", recall(`read ${link.dataset.page}`) !== null);
    };
    const title = document.querySelector("article h1");
    const [head, place, left] = all(".header-place > *"); // a listing of code has no bar
    const lasts = all(".section-nav a[data-road]", nav ?? document.createElement("p")).map((link) => [link.hash.slice(1), +link.dataset.road]);
    const sum = (some) => some.reduce((sum, [, lasting]) => sum + lasting, 0), road = sum(lasts);
    // The sections' minutes are not rounded; no more are left than the head of the chapter says.
    const said = +/\d+/.exec(document.querySelector('.depth [value="road"] + span')?.textContent ?? "")?.[0] || Infinity;
    // How many minutes of the main road are behind the reader: of a section, as much as of its length.
    const gone = () => lasts.reduce((sum, [id, lasting]) => {
      const { top, height } = document.getElementById(id).getBoundingClientRect();
      return sum + lasting * Math.max(0, Math.min(1, (BAR - top) / height));
    }, 0);
    let now = null, waiting = false;
    const look = () => {
      waiting = false;
      document.body.classList.toggle("deep", title?.getBoundingClientRect().bottom < BAR / 2);
      const length = document.documentElement.scrollHeight - innerHeight, done = road && gone();
      const share = road ? done / road : scrollY / Math.max(1, length);
      bar?.style.setProperty("--done", Math.min(1, share));
      const rest = Math.min(said, Math.ceil(road - done));
      if (road) left.textContent = rest ? left.dataset.left.replace("{}", rest) : "";
      const section = here();
      if (section === now) return;
      now = section;
      all(".section-nav .now", nav).forEach((item) => item.classList.remove("now"));
      all(".section-nav [aria-current]", nav).forEach((a) => a.removeAttribute("aria-current"));
      const part = now?.closest("article > section > section");
      const link = part && nav.querySelector(`.section-nav a[href="#${CSS.escape(part.id)}"]`);
      link?.closest("li").classList.add("now");
      link?.setAttribute("aria-current", "location");
      if (!nav.matches(":hover")) keepInView(); // nothing moves under the mouse
      const heading = part && now.querySelector("h2, h3, h4").cloneNode(true);
      heading?.querySelector(".headerlink")?.remove();
      place?.replaceChildren(heading ? plain(heading) : "");
      if (!chapter || !part) return;
      remember("stopped", `${page()}#${now.id}#${road - done < 1 ? "end" : ""}`);
      if (seen.has(part.id)) return;
      seen.add(part.id);
      remember(`seen ${page()}`, [...seen].join(" "));
      if (sum(lasts.filter(([id]) => seen.has(id))) >= READ * road) {
        remember(`read ${page()}`, "1");
        tick();
      }
    };
    if (!nav) return;
    tick();
    const current = nav.querySelector("[aria-current=page]");
    for (const button of all(".primary-toggle")) // in a drawer the list begins at its top
      button.addEventListener("click", () => requestAnimationFrame(keepInView));
    const name = current && all(":scope > *", current).map((e) => e.textContent).join(" ");
    head?.replaceChildren(name ?? title?.firstChild.textContent ?? "");
    const soon = () => {
      if (!waiting) requestAnimationFrame(look);
      waiting = true;
    };
    addEventListener("scroll", soon, { passive: true });
    new ResizeObserver(soon).observe(document.querySelector("article") ?? document.body); // at once, too
  };

  // The button that begins the book leads to the section where the reader stopped, or to
  // the next chapter, if that was the end of one that is ticked.
  const goOn = () => {
    const [button] = all(".start-reading"), [stopped, id, end] = (recall("stopped") ?? "").split("#");
    const chapters = all(".in-order a[data-page]");
    const at = chapters.findIndex((link) => link.dataset.page === stopped);
    if (!button || at < 0) return;
    const next = end && recall(`read ${stopped}`) !== null && chapters[at + 1];
    const link = button.querySelector("a"), chapter = next || chapters[at];
    link.href = chapter.getAttribute("href") + (next ? "" : `#${id}`);
    link.querySelector("b").textContent = button.dataset.goOn;
    link.querySelector("small").textContent = plain(chapter).replace(/^\d+/, "$& ");
  };

  // Sections are laid out as they come near. Once the reader asks for nothing, each is laid
  // out for a moment, and the browser remembers its height: the page has its true length,
  // and who goes far finds the place where it was. A slow machine leaves it at that.
  const measureParts = () => {
    const idle = window.requestIdleCallback ?? setTimeout; // Safari has none
    const next = ([part, ...others]) => {
      if (!part) return;
      const began = performance.now();
      part.classList.add("laid-out");
      const high = part.offsetHeight, slow = performance.now() - began > SLOW;
      requestAnimationFrame(() => requestAnimationFrame(() => { // a frame has seen it
        part.classList.remove("laid-out");
        if (high && !slow) idle(() => next(others));
      }));
    };
    idle(() => next(all("article > section > section")));
  };

  // Who goes to the end of a page gets there, though its last parts are laid out only then.
  const reachEnd = () =>
    addEventListener("keydown", ({ key, target }) => {
      if (key !== "End" || !target.matches("body, article :not(input, select, textarea)")) return;
      let frames = 30;
      const follow = () => {
        scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
        if (--frames) requestAnimationFrame(follow);
      };
      requestAnimationFrame(follow);
    });

  // ---- predictions ----------------------------------------------------------------------

  // What tells the answer: the output, the paragraph after it and after folded cells, and
  // what later cells with the tag "answers" show.
  const telling = (cell) => {
    const found = [cell.querySelector(".cell_output")];
    let near = true;
    for (let next = cell.nextElementSibling; next && !next.matches(".predicted, section"); next = next.nextElementSibling) {
      if (next.matches(".tag_answers")) found.push(next.querySelector(".cell_output"));
      else if (near && next.matches("p")) found.push(next);
      near &&= next.matches(".tag_answers, .tag_hide-cell");
    }
    return found.filter(Boolean);
  };

  // A prediction stands above the output that answers it, and covers what tells the answer
  // until a choice is made: then box and output are brought into view together. The choice
  // is remembered, and the box can be put back.
  const predict = (box, number) => {
    const cell = box.closest(".cell"), output = cell?.querySelector(".cell_output");
    if (!output) return;
    const answers = telling(cell);
    const key = `predict ${page()} ${number}`;
    const buttons = all(".predict-choice", box);
    const says = box.querySelector(".predict-says"), { answer, show, again, right, other } = box.dataset;
    const words = document.createElement("span"), more = document.createElement("button");
    more.type = "button";
    more.className = "predict-more";
    says.append(words, more);
    const set = (choice) => { // null: open, -1: shown without a choice
      const open = choice === null;
      answers.forEach((part, i) => {
        part.classList.toggle("covered", open);
        part.classList.toggle("behind", open && i > 0);
        part.inert = open;
      });
      buttons.forEach((button, i) => {
        button.disabled = !open;
        button.classList.toggle("right", !open && i == answer);
        button.classList.toggle("other", i === choice && i != answer);
        button.setAttribute("aria-pressed", i === choice);
      });
      words.textContent = open || choice < 0 ? "" : choice == answer ? right : other;
      more.textContent = open ? show : again;
    };
    const reveal = () => {
      const below = output.getBoundingClientRect().bottom + AIR - innerHeight;
      const by = Math.min(below, top(says) - BAR), behavior = calm.matches ? "instant" : "smooth";
      if (by > 0) scrollBy({ top: by, behavior });
    };
    const choose = (choice) => {
      remember(key, choice);
      set(choice);
      if (choice !== null) reveal();
    };
    buttons.forEach((button, i) => button.addEventListener("click", () => choose(i)));
    more.addEventListener("click", () => {
      choose(output.inert ? -1 : null);
      if (output.inert) buttons[0].focus();
    });
    // What is inert answers to nothing itself; a click on it leads to the question.
    cell.parentElement.addEventListener("click", ({ clientX: x, clientY: y }) => {
      const hit = ({ left, right, top, bottom }) => left < x && x < right && top < y && y < bottom;
      if (!answers.some((part) => part.inert && hit(part.getBoundingClientRect()))) return;
      box.scrollIntoView({ block: "center" });
      buttons[0].focus({ preventScroll: true });
    });
    const stand = () => {
      const stored = recall(key), open = depth() === "all" ? -1 : null;
      set(stored === null ? open : +stored);
    };
    box.addEventListener("depth", stand);
    stand();
  };

  // ---- cards ----------------------------------------------------------------------------

  // A term, a symbol, a citation: what it is, beside it, when the pointer or the keyboard
  // is there; on a touch screen the first tap shows it and the second follows the link.
  const showCards = () => {
    const texts = JSON.parse(document.getElementById("cards")?.textContent ?? "{}");
    const box = document.createElement("div");
    box.id = "hover-card";
    box.role = "tooltip";
    box.hidden = true;
    document.body.append(box);
    let owner = null, timer = 0, shownAt = 0;
    const hide = () => {
      clearTimeout(timer);
      owner?.removeAttribute("aria-describedby");
      owner = null;
      box.hidden = true;
    };
    const later = () => (clearTimeout(timer), (timer = setTimeout(hide, 200)));
    const show = (link) => {
      clearTimeout(timer);
      if (owner === link) return;
      hide();
      const text = texts[link.hash?.slice(1)];
      if (text) box.innerHTML = text;
      else box.textContent = link.dataset.cites;
      owner = link;
      shownAt = scrollY;
      box.hidden = false;
      link.setAttribute("aria-describedby", box.id);
      const at = link.getClientRects()[0], { width, height } = box.getBoundingClientRect();
      const x = Math.max(8, Math.min(at.left, innerWidth - width - 8));
      const y = at.bottom + height + 12 < innerHeight ? at.bottom + 6 : at.top - height - 6;
      box.style.transform = `translate(${x}px, ${y}px)`;
    };
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", later);
    addEventListener("keydown", (event) => event.key === "Escape" && hide());
    addEventListener("scroll", () => { // a touch leaves the focus where it was
      const far = Math.abs(scrollY - shownAt) > CARD;
      if (!owner?.matches(":focus") || far) hide();
    }, { passive: true });
    for (const link of all('article :is(a.term, a[href*="references.html#"], [data-cites])')) {
      if (link.title) {
        link.dataset.cites = link.title;
        link.removeAttribute("title");
      }
      if (!texts[link.hash?.slice(1)] && !link.dataset.cites) continue;
      link.addEventListener("pointerenter", (event) => {
        if (event.pointerType !== "mouse") return;
        clearTimeout(timer);
        timer = setTimeout(show, 120, link);
      });
      link.addEventListener("pointerleave", later);
      link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
      link.addEventListener("blur", later);
      link.addEventListener("click", (event) => {
        if (link.matches("button")) show(link);
        if (owner === link || matchMedia("(hover: hover)").matches) return;
        event.preventDefault();
        show(link);
      });
    }
  };

  // ---- links and boxes ------------------------------------------------------------------

  // What an element says, with a formula as its TeX.
  const plain = (element) => {
    const copy = element.cloneNode(true);
    for (const math of all(".katex", copy))
      math.replaceWith(math.querySelector("annotation").textContent);
    return copy.textContent.trim();
  };

  // A link that is only a formula needs words for a screen reader.
  const nameFormulas = () => {
    for (const link of all("a:is([data-xp], .term):has(.katex)"))
      link.setAttribute("aria-label", plain(link));
  };

  // Only a box that really scrolls is a stop for the Tab key, and it fades out where more
  // follows. Its size is read when the browser lays it out: asking for it earlier would lay
  // out the whole page at once.
  const markScrolling = () => {
    const widths = new Map();
    const fit = (box) => {
      const same = widths.get(box) === box.clientWidth;
      let size = (same && parseFloat(box.style.getPropertyValue("--fit"))) || 1;
      widths.set(box, box.clientWidth);
      for (let tries = 0; tries < 3; tries++) { // lines break anew at each size
        box.style.setProperty("--fit", size.toFixed(3));
        if (size === SMALLEST || box.scrollWidth <= box.clientWidth) return;
        size = Math.max(SMALLEST, size * (box.clientWidth - 1) / box.scrollWidth);
      }
    };
    const look = (box) => {
      if (box.matches(".math-scroll")) fit(box);
      const hidden = box.scrollWidth - box.clientWidth;
      box.tabIndex = hidden > 0 ? 0 : -1;
      box.classList.toggle("more", hidden - box.scrollLeft > 2);
    };
    const watch = new ResizeObserver((changes) => {
      for (const { target } of changes) look(target.closest(SCROLLING));
    });
    // The letters of a formula may come after its first lines
    document.fonts.addEventListener("loadingdone", () => [...widths.keys()].forEach(look));
    for (const box of all(SCROLLING)) {
      box.tabIndex = 0; // until it is laid out it may scroll
      box.addEventListener("scroll", () => look(box), { passive: true });
      const inside = all(":scope > *, .katex-display > .katex", box);
      for (const part of [box, ...inside]) watch.observe(part);
    }
  };

  // A link in the text may move a figure far above it: then there is a way back.
  const showWayBack = () => {
    const [button] = all(".way-back");
    if (!button) return;
    let from = null;
    const watch = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      button.hidden = true;
      watch.disconnect();
    });
    const look = (link) => {
      from = link;
      const { top, bottom } = link.getBoundingClientRect();
      button.hidden = bottom > BAR && top < innerHeight;
      if (!button.hidden) watch.observe(link);
    };
    for (const link of all("article a[data-xp]"))
      for (const kind of ["click", "keydown"])
        link.addEventListener(kind, () => setTimeout(look, SCROLLED, link));
    button.addEventListener("click", () => {
      button.hidden = true;
      from.scrollIntoView({ block: "center" });
      from.focus({ preventScroll: true });
    });
  };

  // ---- dialogs, colours ----------------------------------------------------------------

  const fetchScript = (name) => {
    const script = document.createElement("script");
    script.src = document.documentElement.dataset.content_root + name;
    script.async = false; // in the order in which they are asked for
    document.body.append(script);
  };

  const closesBeside = (dialog) => dialog.addEventListener("click", ({ target, clientX: x, clientY: y }) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    if (target === dialog && (x < left || x > right || y < top || y > bottom)) dialog.close();
  });

  // The search opens over the page. What it reads is large: it is asked for once somebody
  // is about to search.
  const search = () => {
    const dialog = document.getElementById("pst-search-dialog"), field = dialog?.querySelector("input");
    if (!dialog) return;
    const mac = /^(Mac|iPhone)/.test(navigator.platform);
    const turn = () => dialog.open ? dialog.close() : dialog.showModal();
    if (mac) for (const key of all(".kbd-shortcut__modifier")) key.textContent = "⌘";
    for (const button of all(".search-button__button")) button.addEventListener("click", turn);
    addEventListener("keydown", (event) => {
      const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
      const asked = key.toLowerCase() === "k" && !shiftKey && !altKey && (mac ? metaKey && !ctrlKey : ctrlKey && !metaKey);
      if (!asked && !(key === "Escape" && event.target === field)) return;
      event.preventDefault();
      turn();
    }, true);
    closesBeside(dialog);
    const load = () => ["search-index.js", "_static/search.js"].forEach(fetchScript);
    if (page() !== "search") field.addEventListener("focus", load, { once: true });
  };

  // On a wide screen the button takes the contents away, on a narrow one it opens them.
  const contents = () => {
    const [button] = all(".primary-toggle"), beside = document.getElementById("pst-primary-sidebar");
    const drawer = document.getElementById("pst-primary-sidebar-modal");
    const move = (from, to) => {
      to.append(...from.childNodes);
      [to.className, from.className] = [from.className, ""];
    };
    button?.addEventListener("click", () => {
      if (matchMedia("(min-width: 992px)").matches) return beside.classList.toggle("pst-sidebar-hidden");
      move(beside, drawer);
      drawer.showModal();
    });
    drawer?.addEventListener("close", () => move(drawer, beside));
    if (drawer) closesBeside(drawer);
  };

  // Colours are the system's until somebody turns them: the other ones first, then its own.
  const colours = () => {
    const look = document.documentElement.dataset, dark = matchMedia("(prefers-color-scheme: dark)");
    const show = () => {
      look.theme = look.mode === "auto" ? (dark.matches ? "dark" : "light") : look.mode;
      remember("theme", look.theme);
    };
    dark.addEventListener("change", show);
    for (const button of all(".theme-switch-button"))
      button.addEventListener("click", () => {
        const order = dark.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
        look.mode = order[(order.indexOf(look.mode) + 1) % 3];
        remember("mode", look.mode);
        show();
      });
  };

  // Print shows what is folded, in light colours, and puts both back.
  const unfoldForPrint = () => {
    const colours = document.documentElement.dataset;
    let folded = null, theme;
    const paper = (on) => {
      if (on === (folded !== null)) return;
      if (on) [folded, theme] = [all("article details:not([open])"), colours.theme];
      for (const fold of folded) fold.open = on;
      colours.theme = on ? "light" : theme;
      if (!on) folded = null;
    };
    addEventListener("beforeprint", () => paper(true));
    addEventListener("afterprint", () => paper(false));
    matchMedia("print").addEventListener("change", ({ matches }) => paper(matches));
  };

  unfoldForPrint(); // before `colours` listens, which follows the system
  addEventListener("DOMContentLoaded", () => {
    walk();
    all(".predict").forEach(predict);
    nameFormulas();
    showCards();
    markScrolling();
    showWayBack();
    reachEnd();
    search();
    contents();
    colours();
    addEventListener("hashchange", unfold);
    addEventListener("hashchange", toHash);
    unfold();
    keepPlace();
    follow();
    goOn();
  });
  addEventListener("load", measureParts);
  addEventListener("load", () => fetchScript("_static/practice.js")); // the exercises come last
})();
