"use strict";
// Finds sections, for two fields: that of the page of results, and the one that opens over
// a page, which shows the best hits while somebody types. BOOK_INDEX lists the pages, each
// with its sections [anchor, level, title, prose, words in bold].
(() => {
  const WORDS = SEARCH_WORDS;
  const HAN = /[\u3400-\u9fff]/;
  const HITS = 6, A_PAGE = 2; // in the dialog
  const A_GROUP = 3, EXCERPT = 170, LINE = 45; // on the page of results, in the dialog
  // What a reader most likely looks for: the chapters, then what sums them up.
  const KINDS = [[/^chapters\//, 1], [/glossary$/, 0.8], [/symptoms$/, 0.75], [/index$/, 0.6], [/./, 0.45]];
  const SOME = 5; // with fewer hits, places with half of the words follow
  const LESS = /^(exercise|interview|three-lines|in-the-wild|\d)/; // sections that repeat

  // Both spellings of a word are one: normalise, normalize.
  const lower = (text) => text.toLowerCase().replace(/([a-z]{3})is(?=e|ing|ation)/g, "$1iz");

  // What only makes a question of words is not looked for, unless there is nothing else.
  const ASKS = /为什么|怎么办?|怎样|如何|什么|吗|呢|(?<![\w'])(?:a|an|the|is|are|was|do|does|did|my|why|how|what|when|to|of|in|by|it|its|not|i|and|can|should|go|going)(?![\w'])/g;
  const split = (text) => text.match(/[\u3400-\u9fff]+|[^\s\u3400-\u9fff，。、；：？！?（）]+/g) ?? [];

  // A short form, or another name, finds what it stands for.
  const SAME = Object.fromEntries(WORDS.same.map(([short, ...long]) => [short, long]));
  const NAMES = new RegExp(Object.keys(SAME).filter((name) => HAN.test(name) && name.length > 2).join("|"), "g");
  const terms = (query) => {
    const low = lower(query).replace(NAMES, " $& "), some = split(low.replace(ASKS, " "));
    return some.length ? some : split(low);
  };

  // Latin words are found at their beginning, so "kl" is not in "weekly".
  const places = (text, term) => spans(text, term).map(([at]) => at);
  const spans = (text, term) =>
    [term, ...(SAME[term] ?? [])].flatMap((one) => found(text, one).map((at) => [at, at + one.length]));
  const found = (text, term) => {
    const found = [];
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const before = text[at - 1] ?? " ";
      if (HAN.test(term) || !/[a-z0-9]/.test(before) || !/[a-z0-9]/.test(term[0])) found.push(at);
    }
    return found;
  };

  const index = BOOK_INDEX.map(([page, sections]) => ({
    page,
    // A term is taught where it comes first: later chapters count a little less.
    weight: KINDS.find(([kind]) => kind.test(page))[1] * (1 - (parseInt(page.slice(9)) || 0) / 100),
    title: sections[0][2],
    low: lower(sections[0][2]),
    sections: sections.map(([anchor, level, title, text, bold]) => ({
      anchor, level, title, text,
      low: [title, text, bold].map(lower),
    })),
  }));

  // A title counts the more, the more of it the term is.
  const share = (title, term) => {
    const [at] = spans(title, term);
    return at ? 40 + (60 * (at[1] - at[0])) / title.length : 0;
  };

  const score = (page, section, wanted, query) => {
    const [title, text, bold] = section.low;
    let sum = 0;
    for (const term of wanted) {
      const inTitle = share(title, term), inPage = share(page.low, term) / 3;
      const inText = places(text, term).length;
      // "GAE" is what GAE's section sets in bold; "bi-level GAE" is another term.
      const bolds = bold.split("\n").filter((part) => places(part, term).length);
      const inBold = bolds.some((part) => part.startsWith(term)) ? 30 : bolds.length && 10;
      if (!inTitle && !inText && !inPage) return 0;
      if (!inTitle && !inText) sum += 1;
      else sum += inTitle + inPage + 5 * Math.log2(1 + inText) + inBold;
    }
    if (wanted.length > 1 && places(title, query).length) sum += 40;
    if (title.replace(/^the /, "") === query && page.page.startsWith("chapters/")) sum += 60;
    return sum * page.weight * (LESS.test(section.anchor) ? 0.5 : 1);
  };

  // How many letters are missing, added, other or exchanged with the next.
  const slips = (one, other) => {
    let before, last, row = Array.from({ length: other.length + 1 }, (_, j) => j);
    for (let i = 1; i <= one.length; i++) {
      [before, last, row] = [last, row, [i]];
      for (let j = 1; j <= other.length; j++) {
        const same = one[i - 1] === other[j - 1];
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
          row[j] = Math.min(row[j], before[j - 2] + 1);
      }
    }
    return row.at(-1);
  };

  // The word of the book that is nearest to a term: of words as near, the most frequent.
  // Chinese has no spaces between words: there, what is set in bold.
  const vocabularies = {};
  const LATIN = /[a-z][a-z-]{3,}/g, CHINESE = /[\u3400-\u9fff]{3,8}/g;
  const nearest = (term) => {
    const han = HAN.test(term), form = han ? CHINESE : LATIN;
    if (term.match(form)?.[0] !== term) return term;
    if (!vocabularies[han]) {
      const words = vocabularies[han] = new Map();
      for (const { sections } of index)
        for (const { low: [title, text, bold] } of sections)
          for (const word of (han ? bold : `${title} ${text} ${bold}`).match(form) ?? [])
            words.set(word, (words.get(word) ?? 0) + 1);
    }
    let best = [han || term.length < 7 ? 1 : 2, 0, term];
    for (const [word, count] of vocabularies[han]) {
      if (Math.abs(word.length - term.length) > best[0]) continue;
      const far = slips(term, word);
      if (far < best[0] || (far === best[0] && count > best[1])) best = [far, count, word];
    }
    return best[2];
  };

  // A word that the book does not have may be misspelt.
  const search = (query) => {
    const low = lower(query).trim(), asked = terms(low);
    const there = (term) => index.some(({ sections }) =>
      sections.some(({ low }) => low.some((text) => places(text, term).length)));
    const meant = asked.map((term) => (there(term) ? term : nearest(term)));
    if (meant.join() === asked.join()) return find(low);
    const instead = meant.join(" ");
    return { ...find(instead), instead };
  };

  const find = (low) => {
    const whole = terms(low);
    const pairs = whole.flatMap((term) =>
      HAN.test(term) && term.length > 2 ? [...term].slice(1).map((c, i) => term[i] + c) : [term]);
    const all = (wanted) => {
      const hits = index.flatMap((page) =>
        page.sections
          .map((section) => ({ page, section, points: score(page, section, wanted, low) }))
          .filter(({ points }) => points > 0));
      return hits.sort((a, b) => b.points - a.points);
    };
    for (const wanted of [whole, pairs]) { // a long Chinese query may be cut
      const hits = wanted.length ? all(wanted) : [];
      if (hits.length < SOME && wanted.length > 1) {
        const more = new Map(), seen = new Set(hits.map(({ section }) => section));
        for (const hit of wanted.flatMap((term) => all([term]))) {
          const sum = more.get(hit.section) ?? { ...hit, points: 0, held: 0 };
          sum.points += hit.points;
          sum.held += 1;
          if (!seen.has(hit.section)) more.set(hit.section, sum);
        }
        const half = [...more.values()].filter(({ held }) => held * 2 >= wanted.length);
        hits.push(...half.sort((a, b) => b.held - a.held || b.points - a.points));
      }
      if (hits.length) return { hits, wanted };
    }
    return { hits: [], wanted: whole };
  };

  // The first sentence with most of the terms, and what follows in its block while there is
  // room; a row of a table only if no prose has any of them.
  const prose = (text) => text.split("\n").filter((line) => line[0] !== "\t"); // that of a row
  const excerpt = (text, wanted, room = EXCERPT) => {
    const has = (line) => wanted.some((term) => places(lower(line), term).length);
    const lines = text.split("\n"), said = prose(text);
    const blocks = (said.some(has) || !lines.some(has) ? said : lines).map((block) =>
      block.split(/(?<=[。！？])|(?<=[.!?])\s+/).filter((s) => s.trim()));
    const count = (s) => wanted.filter((term) => places(lower(s), term).length).length;
    const most = Math.max(...blocks.flat().map(count));
    const sentences = blocks.find((block) => block.some((s) => count(s) === most)) ?? [];
    let at = sentences.findIndex((s) => count(s) === most), shown = sentences[at]?.trim() ?? "";
    while (shown && sentences[++at] && shown.length + sentences[at].length < room)
      shown += (HAN.test(shown.slice(-2)) || shown.endsWith("。") ? "" : " ") + sentences[at].trim();
    return shown.length > 2 * room ? around(shown, wanted, 2 * room) : shown;
  };

  // What stands around the first term, of a sentence that is too long.
  const around = (text, wanted, room) => {
    const found = wanted.flatMap((term) => places(lower(text), term).slice(0, 1));
    const first = Math.min(...found, text.length);
    const from = wordAt(text, first > room - 30 ? first - 30 : 0), to = wordAt(text, from + room);
    return (from ? "…" : "") + text.slice(from, to) + (to < text.length ? "…" : "");
  };

  // Where the word at a place begins: nothing is cut in it.
  const wordAt = (text, at) => {
    while (/\w/.test(text[at - 1] ?? "") && /\w/.test(text[at] ?? "")) at--;
    return at;
  };

  // What stands low or high after a single letter and has no sign of its own: π_old.
  const SCRIPT = /(?<=(?:(?<![A-Za-z0-9_.])[A-Za-z]|[\u0370-\u03ff∇])[\u0300-\u036f]?)([_^])([A-Za-z0-9\u0370-\u03ff*]+)/g;
  const put = (element, text) => {
    let done = 0;
    for (const { 0: all, 1: sign, 2: script, index } of text.matchAll(SCRIPT)) {
      element.append(text.slice(done, index));
      add(element, sign === "_" ? "sub" : "sup", { textContent: script });
      done = index + all.length;
    }
    element.append(text.slice(done));
  };

  const mark = (element, text, wanted) => {
    const low = lower(text);
    const marked = wanted.flatMap((term) => spans(low, term))
      .filter(([at]) => !/[_^]/.test(low[at - 1])).sort((a, b) => a[0] - b[0]);
    let done = 0;
    for (const [from, to] of marked) {
      if (from < done) continue;
      put(element, text.slice(done, from));
      element.appendChild(document.createElement("mark")).textContent = text.slice(from, to);
      done = to;
    }
    put(element, text.slice(done));
  };

  const root = document.documentElement.dataset.content_root;
  const add = (parent, tag, props = {}) =>
    Object.assign(parent.appendChild(document.createElement(tag)), props);
  const report = (says, query, { hits, instead }) => {
    const [before, after] = WORDS.none.split("{}");
    const found = instead ? WORDS.instead.replace("{word}", instead) : WORDS.found;
    says.textContent = query && (hits.length ? found.replace("{}", hits.length) : before);
    if (!query || hits.length) return;
    add(says, "a", { href: `${root}book/glossary.html`, textContent: WORDS.glossary });
    says.append(after);
  };
  const address = ({ page, section }) =>
    `${root}${page.page}.html${section.anchor && "#" + section.anchor}`;

  // ---- the page of results: a group for each page of the book ------------------------------

  const item = (hit, wanted) => {
    const { section } = hit, item = document.createElement("li");
    mark(add(item, "a", { href: address(hit) }), section.level > 1 ? section.title : (WORDS.asks[hit.page.page] ?? WORDS.opening), wanted);
    // Where the title has the word, prose says more than a row of a table with it.
    const told = wanted.some((term) => places(section.low[0], term).length) && prose(section.text).join("\n");
    mark(add(item, "p"), excerpt(told || section.text, wanted), wanted);
    return item;
  };

  const group = (hits, wanted) => {
    const box = document.createElement("section"), rest = hits.slice(A_GROUP);
    add(box, "h2", { textContent: hits[0].page.title });
    const list = (parent, some) => add(parent, "ol").append(...some.map((hit) => item(hit, wanted)));
    list(box, hits.slice(0, A_GROUP));
    if (!rest.length) return box;
    const fold = add(box, "details");
    add(fold, "summary", { textContent: WORDS.more.replace("{}", rest.length) });
    fold.addEventListener("toggle", () => list(fold, rest), { once: true });
    return box;
  };

  const resultsPage = (field) => {
    const says = document.getElementById("search-says"), results = document.getElementById("search-results");
    const show = () => {
      const query = field.value.trim(), found = search(query);
      const list = (hits) => {
        const pages = new Map();
        for (const hit of hits) pages.set(hit.page, [...(pages.get(hit.page) ?? []), hit]);
        results.append(...[...pages.values()].map((some) => group(some, found.wanted)));
      };
      const half = found.hits.filter(({ held }) => held);
      results.replaceChildren();
      list(found.hits.filter(({ held }) => !held));
      if (half.length) add(results, "p", { className: "search-half", textContent: WORDS.half });
      list(half);
      report(says, query, found);
    };
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.addEventListener("input", () => {
      show();
      const here = new URL(location);
      here.searchParams.set("q", field.value);
      try { history.replaceState(null, "", here); } catch { /* from disk */ }
    });
    field.form.addEventListener("submit", (event) => event.preventDefault());
    field.focus();
    show();
  };

  // ---- the dialog: the best hits under the field, to be walked with the arrow keys ---------

  const dialog = (field) => {
    const form = field.form, box = document.createElement("div");
    const says = add(box, "p", { role: "status" });
    const list = add(box, "div", { id: "search-hits", role: "listbox", ariaLabel: WORDS.hits });
    box.className = "search-hits";
    form.after(box);
    Object.assign(field, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: "false" });
    field.setAttribute("aria-controls", list.id);
    let at = -1;
    const go = (n) => {
      at = n;
      [...list.children].forEach((option, i) => (option.ariaSelected = String(i === at)));
      if (at < 0) field.removeAttribute("aria-activedescendant");
      else field.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    const option = (href) => add(list, "a", {
      href, role: "option", id: `search-hit-${list.children.length}`, tabIndex: -1,
    });
    const defines = (query) => ({ page, section }) =>
      page.page.endsWith("glossary") && section.low[2].split("\n").includes(query);
    const show = () => {
      const query = field.value.trim(), found = search(query), seen = {};
      const { hits, wanted } = found;
      const best = hits.filter(({ page }) => (seen[page.page] = (seen[page.page] ?? 0) + 1) <= A_PAGE);
      const definition = hits.find(defines(lower(query)));
      const others = best.filter((hit) => hit !== definition);
      if (definition) others.splice(1, 0, definition); // after the section that teaches it
      const first = others.slice(0, HITS);
      list.replaceChildren();
      for (const hit of first) {
        const link = option(address(hit));
        mark(add(link, "b"), hit === definition ? query : hit.section.title, wanted);
        if (hit.section.level > 1 && hit.section.title !== hit.page.title)
          mark(add(link, "small"), hit.page.title, wanted);
        else if (WORDS.asks[hit.page.page])
          add(link, "small", { textContent: WORDS.asks[hit.page.page] });
        if (!link.querySelector("mark"))
          mark(add(link, "span"), excerpt(hit.section.text, wanted, LINE), wanted);
      }
      if (hits.length > HITS)
        option(`${form.action}?q=${encodeURIComponent(query)}`).textContent = WORDS.all.replace("{}", hits.length);
      report(says, query, found);
      says.classList.toggle("shown", !hits.length || Boolean(found.instead));
      box.hidden = !query;
      field.ariaExpanded = String(hits.length > 0);
      go(-1);
    };
    field.addEventListener("input", show);
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], size = list.children.length + 1;
      if (step) go(((at + 1 + step + size) % size) - 1); // -1 is the field itself
      else if (event.key === "Enter" && at >= 0) list.children[at].click();
      else return;
      event.preventDefault();
    });
    list.addEventListener("click", () => form.closest("dialog").close());
    show();
  };

  const field = document.getElementById("search-field");
  if (field) resultsPage(field);
  dialog(document.querySelector("#pst-search-dialog input"));
})();
