"use strict";
// Finds sections: BOOK_INDEX lists the pages, each with its sections
// [anchor, level, title, prose, words in bold].
(() => {
  const HAN = /[\u3400-\u9fff]/;
  const SHOWN = 40, A_PAGE = 4, EXCERPT = 170;
  // What a reader most likely looks for: the chapters, then what sums them up.
  const KINDS = [[/^chapters\//, 1], [/glossary$/, 0.8], [/symptoms$/, 0.75], [/index$/, 0.6], [/./, 0.45]];
  const LESS = /^(exercise|interview|three-lines|in-the-wild|\d)/; // sections that repeat

  const terms = (query) =>
    query.toLowerCase().match(/[\u3400-\u9fff]+|[^\s\u3400-\u9fff，。、；：？！（）]+/g) ?? [];

  // Latin words are found at their beginning, so "kl" is not in "weekly".
  const places = (text, term) => {
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
    low: sections[0][2].toLowerCase(),
    sections: sections.map(([anchor, level, title, text, bold]) => ({
      anchor, level, title, text,
      low: [title, text, bold].map((part) => part.toLowerCase()),
    })),
  }));

  // A title counts the more, the more of it the term is.
  const share = (title, term) => (places(title, term).length ? 40 + (60 * term.length) / title.length : 0);

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
    return sum * page.weight * (LESS.test(section.anchor) ? 0.5 : 1);
  };

  const search = (query) => {
    const low = query.toLowerCase().trim(), whole = terms(low);
    const pairs = whole.flatMap((term) =>
      HAN.test(term) && term.length > 2 ? [...term].slice(1).map((c, i) => term[i] + c) : [term]);
    for (const wanted of [whole, pairs]) { // a long Chinese query may be cut
      const hits = index.flatMap((page) =>
        page.sections
          .map((section) => ({ page, section, points: score(page, section, wanted, low) }))
          .filter(({ points }) => points > 0));
      if (!wanted.length || !hits.length) continue;
      const count = {};
      hits.sort((a, b) => b.points - a.points);
      const shown = hits.filter(({ page }) => (count[page.page] = (count[page.page] ?? 0) + 1) <= A_PAGE);
      return { shown: shown.slice(0, SHOWN), all: hits.length, wanted };
    }
    return { shown: [], all: 0, wanted: whole };
  };

  // The first sentence with a term, and its neighbours while there is room.
  const excerpt = (text, wanted) => {
    const sentences = text.split(/\n|(?<=[。！？])|(?<=[.!?])\s+/).filter((s) => s.trim());
    const low = sentences.map((s) => s.toLowerCase());
    const hits = low.map((s) => wanted.filter((term) => places(s, term).length).length);
    let at = hits.indexOf(Math.max(...hits)), said = sentences[at]?.trim() ?? "";
    while (said && sentences[++at] && said.length + sentences[at].length < EXCERPT)
      said += (HAN.test(said.slice(-2)) || said.endsWith("。") ? "" : " ") + sentences[at].trim();
    if (said.length > 2 * EXCERPT) said = said.slice(0, 2 * EXCERPT) + "…";
    return said;
  };

  const mark = (element, text, wanted) => {
    const low = text.toLowerCase(), spans = [];
    for (const term of wanted) for (const at of places(low, term)) spans.push([at, at + term.length]);
    spans.sort((a, b) => a[0] - b[0]);
    let done = 0;
    for (const [from, to] of spans) {
      if (from < done) continue;
      element.append(text.slice(done, from));
      element.appendChild(document.createElement("mark")).textContent = text.slice(from, to);
      done = to;
    }
    element.append(text.slice(done));
  };

  const field = document.getElementById("search-field"), says = document.getElementById("search-says");
  const list = document.getElementById("search-results");
  const show = () => {
    const query = field.value.trim(), { shown, all, wanted } = search(query);
    list.replaceChildren(...shown.map(({ page, section }) => {
      const item = document.createElement("li");
      const link = item.appendChild(document.createElement("a"));
      link.href = `${page.page}.html${section.anchor && "#" + section.anchor}`;
      mark(link, section.title, wanted);
      if (section.level > 1) {
        const where = item.appendChild(document.createElement("small"));
        where.textContent = page.title;
      }
      mark(item.appendChild(document.createElement("p")), excerpt(section.text, wanted), wanted);
      return item;
    }));
    says.textContent = !query ? "" : all ? says.dataset.found.replace("{}", all) : says.dataset.none;
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", () => {
    show();
    const address = new URL(location);
    address.searchParams.set("q", field.value);
    try { history.replaceState(null, "", address); } catch { /* from disk */ }
  });
  field.form.addEventListener("submit", (event) => event.preventDefault());
  field.focus();
  show();
})();
