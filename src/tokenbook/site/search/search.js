"use strict";
// Finds sections, for two fields: that of the page of results, and the one that opens over
// a page, which shows the best hits while somebody types. BOOK_INDEX lists the pages, each
// with its sections [anchor, level, title, prose, words in bold, 1 for a side road].
(() => {
  const WORDS = SEARCH_WORDS;
  const KEYS = WORDS.keys ?? { lines: [], symptoms: {} };
  const HAN = /[\u3400-\u9fff]/;
  const HITS = 6, A_PAGE = 2; // in the dialog
  const A_GROUP = 3, EXCERPT = 170, LINE = 45; // on the page of results, in the dialog
  // What a reader most likely looks for: the chapters, then what sums them up.
  const KINDS = [[/^chapters\//, 1], [/glossary$/, 0.8], [/symptoms$/, 0.75], [/index$/, 0.6], [/./, 0.45]];
  const SOME = 5; // with fewer hits, places with half of the words follow
  const ASKED = 4; // times as much counts a symptom where somebody asks why
  const SIDE = 0.7; // as much counts what is found on a side road
  const LESS = /^(exercise|interview|three-lines|in-the-wild|\d)/; // sections that repeat

  // Both spellings of a word are one: normalise, normalize.
  const lower = (text) => text.toLowerCase().replace(/([a-z]{3})is(?=e|ing|ation)/g, "$1iz");

  // What only makes a question of words is not looked for, unless there is nothing else.
  const ASKS = /为什么|为何|怎么办|怎么回事|怎么[选设算]|怎么|一直|总是|怎样|如何|是什么|什么|我们|我的|我|吗|呢|(?<![\w'])(?:an?|the|is|are|was|were|be|been|do|does|did|has|have|had|my|your|our|me|we|you|why|how|what|which|when|where|to|of|on|in|at|by|for|from|with|as|or|if|so|it|its|this|that|there|not|i|and|but|can|should|would|will|go|goes|going|get|gets|getting)(?![\w'])/g;
  const WHY = /为什么|为何|怎么|我的|[不没]|(?<![\w'])(?:why|my|not|never|stuck|stops?)(?![\w'])|n't/; // symptoms first
  const SMALL = /[的了](?![\u3400-\u9fff])|(?<![\u3400-\u9fff])[的是在]/g;
  const BARE = /^["'`“”‘’([{<]+|["'`“”‘’)\]}>,.:;!]+$/g; // around a word that is pasted
  const split = (text) => (text.match(/[\u3400-\u9fff]+|[^\s\u3400-\u9fff，。、；：？！?（）]+/g) ?? [])
    .map((word) => word.replace(BARE, "") || word);

  // A short form, or another name, finds what it stands for.
  const SAME = Object.fromEntries(WORDS.same.map(([short, ...long]) => [short, long]));
  const NAMES = new RegExp(Object.keys(SAME).filter((name) => HAN.test(name) && name.length > 2).join("|"), "g");
  const terms = (query) => {
    const low = lower(query).replace(NAMES, " $& "), some = split(low.replace(ASKS, " ").replace(SMALL, " "));
    return some.length ? some : split(low);
  };

  // Latin words are found whole, "kl" not in "weekly" nor "flat" in "flattering", but with
  // their endings; a term that ends in … is the beginning of a word.
  const ENDING = /(?:e?s|[a-z]?(?:ed|ing))?(?![a-z0-9])/y, AFTER_E = /[sd]?(?![a-z0-9])/y, END = /(?![a-z0-9])/y;
  const stems = (word) => {
    const one = word.replace(/(?<=^[a-z]{3,})(?:(?<=ss)es|(?<![su])s)$/, "");
    const root = word.replace(/(?<=^[a-z]{3,})(?:(?<=([bdgmnprt]))\1|(?<=[a-z]{4}))(?:ing|ed)$/, "");
    return root === word ? [one] : [root, `${root}e`];
  };
  const same = (term) => SAME[term] ?? SAME[stems(term)[0]] ?? [];
  const places = (text, term) => spans(text, term).map(([at]) => at);
  const spans = (text, term) => {
    const itself = term.length === 1 && HAN.test(term) && SAME[term] ? [] : [term, ...stems(term)]; // 平, not 平均
    const all = new Map([...new Set([...itself, ...same(term)])].flatMap((form) => found(text, form)));
    return [...all].sort((a, b) => a[0] - b[0]);
  };
  const found = (text, form) => {
    const found = [], begins = form.endsWith("…"), term = begins ? form.slice(0, -1) : form;
    const word = /[a-z0-9]$/.test(term) && !begins;
    const ending = term.length < 3 ? END : term.endsWith("e") ? AFTER_E : ENDING;
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const end = at + term.length;
      if (/[a-z0-9]/.test(term[0]) && /[a-z0-9]/.test(text[at - 1] ?? " ")) continue;
      ending.lastIndex = end;
      const rest = word ? ending.exec(text) : [""];
      if (rest) found.push([at, end + rest[0].length]);
    }
    return found;
  };

  const index = BOOK_INDEX.map(([page, sections]) => ({
    page,
    symptoms: /symptoms$/.test(page),
    // A term is taught where it comes first: later chapters count a little less.
    weight: KINDS.find(([kind]) => kind.test(page))[1] * (1 - (parseInt(page.slice(9)) || 0) / 100),
    title: sections[0][2],
    low: lower(sections[0][2]),
    name: lower(sections[0][2]).replace(/^\d+ |[:：].*/g, ""),
    sections: sections.map(([anchor, level, title, text, bold, side]) => ({
      anchor, level, title, text, side, terms: bold.split("\n"),
      low: [title, text, bold].map(lower),
      // What else a symptom is called, and the errors that come with it, or a section: not shown.
      asked: lower(WORDS.asked[/symptoms$/.test(page) ? anchor : `${page.slice(9)}#${anchor}`] || ""),
    })),
  }));

  const once = (find) => {
    const known = new Map();
    return (term) => known.get(term) ?? known.set(term, index.some(({ sections }) => sections.some((section) =>
      find(section).some((text) => places(text, term).length)))).get(term);
  };
  const written = once(({ low }) => low), there = once(({ low, asked }) => [...low, asked]);

  // The words of a run of Chinese, single signs together where the book has them so; where
  // the browser does not know words, pairs of signs.
  const segmenter = Intl.Segmenter && new Intl.Segmenter("zh", { granularity: "word" });
  const words = (term) => {
    if (!HAN.test(term) || SAME[term]) return [term];
    if (!segmenter) return term.length > 2 ? [...term].slice(1).map((c, i) => term[i] + c) : [term];
    const cut = [];
    for (const { segment: one } of segmenter.segment(term)) {
      const last = cut.at(-1) ?? "", single = last.length === 1 || one.length === 1;
      if (/^[不没未]$/.test(last) || (last && single && !/[不没未]/.test(one) && written(last + one))) cut[cut.length - 1] += one;
      else cut.push(one);
    }
    return cut.filter((word) => !/^[的了是在有会就也都很]$/.test(word));
  };

  // A title counts the more, the more of it the term is, and less with another ending.
  const share = (title, term) => {
    const [at] = spans(title, term);
    if (!at) return 0;
    const asked = title.startsWith(term, at[0]) || same(term).length ? 1 : 0.5;
    return asked * (40 + (60 * (at[1] - at[0])) / title.length);
  };

  const spaced = (text) => text.replaceAll("-", " ");
  const score = (page, section, wanted, query) => {
    const [title, text, bold] = section.low;
    let sum = 0, named = 0, other = 0;
    for (const term of wanted) {
      const inTitle = share(title, term), inPage = share(page.low, term) / 3;
      const inText = places(text, term).length;
      // "GAE" is what GAE's section sets in bold; "bi-level GAE" is another term.
      const bolds = bold.split("\n").filter((part) => places(part, term).length);
      const inBold = bolds.some((part) => part.startsWith(term)) ? 30 : bolds.length && 10;
      const alias = !inTitle && !term.endsWith("…") && places(section.asked, term).length;
      named += inTitle || alias ? 1 : 0;
      other += alias ? 1 : 0;
      if (alias) sum += 30;
      else if (!inTitle && !inText && !inPage) return 0;
      if (!inTitle && !inText) sum += 1;
      else sum += inTitle + inPage + 5 * Math.log2(1 + inText) + inBold;
    }
    // A symptom, by another name that has all of the terms.
    const names = other && named === wanted.length ? [title, ...section.asked.split(/[,，]/)] : [];
    if (names.some((name) => wanted.every((term) => places(name, term).length))) sum += 60;
    const phrase = (where) => wanted.length > 1 && spaced(where).includes(spaced(query)); // clip hig: Clip-Higher
    if (phrase(title) || phrase(section.asked)) sum += 40;
    else if (phrase(text)) sum += 20;
    if (page.name === query && section.level === 1) sum += 100; // a chapter of that name
    if (title.replace(/^the /, "") === stems(query)[0] && page.page.startsWith("chapters/")) sum += 60;
    return sum * page.weight * (LESS.test(section.anchor) ? 0.5 : 1) * (section.side ? SIDE : 1);
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
  // Chinese has no spaces between words: there, what is set in bold, and of words of two
  // signs those that begin alike.
  const vocabularies = {};
  const LATIN = /[a-z][a-z_-]{3,}/g, CHINESE = /[\u3400-\u9fff]{2,8}/g;
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
      if (han && Math.min(word.length, term.length) < 3 && (word.length !== term.length || word[0] !== term[0])) continue;
      const far = slips(term, word);
      if (far < best[0] || (far === best[0] && count > best[1])) best = [far, count, word];
    }
    return best[2];
  };

  // ---- a whole sentence, as of a report: what it has seen, and the symptom that this calls --

  // Words that mean the same of a curve are one; every other word loses its ending.
  const listed = (text) => text.split(/, /), quoted = (text) => text.replace(/[.*+?^$()|{}]/g, "\\$&");
  const SENSES = Object.entries(WORDS.senses).map(([sense, text]) => {
    const forms = listed(text).sort((a, b) => b.length - a.length), latin = (form) => `${quoted(form.replace(/\$$/, ""))}${form.endsWith("$") ? "(?![a-z0-9]|\\.\\d)" : "[a-z]*"}`;
    const begins = forms.filter((form) => /^[a-z0-9]/.test(form)).map(latin).join("|");
    const other = forms.filter((form) => !/^[a-z0-9]/.test(form)).map(quoted).join("|");
    return [sense, RegExp([begins && `(?<![a-z0-9.])(?:${begins})`, other].filter(Boolean).join("|"), "g")];
  });
  const PLAIN = new Set(listed(WORDS.plain)), HEARD = new Map(); // misspelt words of a sense
  for (const [sense, text] of Object.entries(WORDS.senses))
    for (const form of listed(text)) if (/^[a-z]{6,}$/.test(form)) HEARD.set(form, sense);
  const stem = (word) => word.replace(/(?<=^[a-z]{4,})(?:ings?|ed|es|s|e|ly)$/, "");
  const bag = (text, meant = near) => {
    const found = new Set(); // in the text, earlier senses take their words
    let low = lower(text.replaceAll("’", "'").replace(/NaN/g, "nan").replace(/(?<=[a-z])(?=[A-Z][a-z])/g, " ")).replace(/[_/-]+/g, " ").replace(/\s+/g, " ");
    low = low.replace(/(?<!\w)go(?:es|ing)?(?= to (?:0|zero))/g, "drops").replace(ASKS, (word) => (/^not$|不|没|一直|总是|怎么/.test(word) ? word : " ")).replace(/ +/g, " ");
    for (const [sense, form] of SENSES)
      low = low.replace(form, () => (sense === "noise" || found.add(sense), "·"));
    for (const part of low.match(/[a-z][a-z@']*|[\u3400-\u9fff]+/g) ?? [])
      for (const word of HAN.test(part) && segmenter ? [...segmenter.segment(part)].map(({ segment }) => segment) : [stem(part)])
        if (!PLAIN.has(word) && !PLAIN.has(part) && word.length > 1) found.add(meant(word));
    return found;
  };
  const near = (word) => {
    if (!/^[a-z]{5,}$/.test(word)) return word;
    for (const [form, sense] of HEARD) if (slips(word, form) < 2) return sense;
    return word;
  };
  // What speaks of a change, or of a bug, asks for a symptom, however short it is.
  const CHANGES = /^(?:long|short|falls|rises|not|spikes|collapse|flat|zero|nan|slow|large|small|negative|garbled|wrong)$/;
  const BUG = /^\[|(?<!\w)(?:bug|bugfix|fix|feat|questions?|problems?|issues?|errors?|weird|strange|unexpected|unusual|abnormal|wrong|help)(?!\w)|问题|异常|正常吗|请问|报错/;
  const RUN = /(?<!\w)(?:during|training|\w*trainer|grpo|ppo)(?!\w)|训练/;
  const changes = (query) => [...bag(query, String)].some((word) => CHANGES.test(word)); // a slip is corrected aloud
  const reports = (query) => BUG.test(lower(query)) || changes(query);
  let phrases = null, rare = null;
  const named = (query) => {
    if (!phrases) {
      const page = index.find(({ symptoms }) => symptoms);
      phrases = (page?.sections ?? []).filter(({ asked, anchor }) => asked || WORDS.seen[anchor] || KEYS.symptoms[anchor]).flatMap((section) => [
        ...[section.title, ...section.asked.split(/[,，]/)].map((text) => ({ page, section, words: [...bag(text)] }))
          .filter(({ words }) => !WORDS.seen[section.anchor] || words.some((word) => !WORDS.senses[word])), // else its rows tell
        ...listed(WORDS.seen[section.anchor] ?? "").filter(Boolean).map((row) => ({ page, section, words: row.split(" "), row: true })),
      ]);
      const of = {}; // a word's symptoms: one with many names is not a common word
      for (const { section, words } of phrases) for (const word of words) (of[word] ??= new Set()).add(section);
      const all = new Set(phrases.map(({ section }) => section)).size;
      rare = (word) => (of[word] ? Math.log((1 + all) / of[word].size) : 0);
    }
    const clauses = query.split(/[，。；;]|[,.:!?](?=\s|$)/).map((part) => bag(part));
    const has = new Set(clauses.flatMap((part) => [...part])), best = new Map();
    const clear = reports(query) || RUN.test(lower(query)) ? CLEAR : 2 * CLEAR; // else it may ask how something works
    for (const { page, section, words, row } of phrases) {
      const sum = (some) => some.reduce((all, word) => all + rare(word), 0), both = words.filter((word) => has.has(word));
      const where = clauses.filter((part) => both.every((word) => part.has(word)));
      const other = !words.includes("not") && (where.length ? where.every((part) => part.has("not")) : has.has("not"));
      const times = (clauses.length > 1 && where.length ? BESIDE : 1) * (other ? DENIED : 1);
      const points = both.length && (times * sum(both) ** 2) / sum(words);
      if (row ? both.length < words.length || points < clear * ROW : both.length < 2 || sum(both) < NAMED * sum(words) || points < clear) continue;
      if (points > (best.get(section)?.points ?? 0)) best.set(section, { page, section, points, wanted: both });
    }
    const found = [...best.values()].sort((a, b) => b.points - a.points);
    return found.filter(({ points }) => points > found[0].points / 2);
  };
  const NAMED = 0.8, CLEAR = 1.6, ROW = 0.5, SENTENCE = 3; // share of a name, weight of it, words of a query
  const BESIDE = 1.3; // times as much counts a name whose words stand in one clause
  const DENIED = 0.6; // and one whose words stand beside a "not" that it has not

  // ---- the keys of a log: a line each, and the symptoms that they show in ------------------

  const keyPage = { page: KEYS.page, title: KEYS.title };
  const keyLines = KEYS.lines.map(([quantity, key, text, today]) => ({
    anchor: `key-${quantity}`, level: 2, title: key, text, quantity, today, low: [key.toLowerCase(), text, ""],
    like: new RegExp(`^${key.toLowerCase().replace(/[.+()]/g, "\\$&").replaceAll("*", ".+")}$`),
  }));
  const parts = (name) => name.split("/");
  // A key may stand behind the name of a run or a set, and without its own first part.
  const ofKey = (name) => {
    const exact = keyLines.filter(({ low }) => low[0] === name);
    if (exact.length || !/[/_]/.test(name)) return exact;
    for (let rest = name; rest; rest = parts(rest).slice(1).join("/")) {
      const some = keyLines.filter(({ low, like }) => like.test(rest) || (rest === name && low[0].endsWith(`/${rest}`)));
      if (some.length) return some;
    }
    const far = (line) => Math.min(slips(name, line.low[0]), slips(name, parts(line.low[0]).at(-1)));
    const least = name.length < 6 ? 0 : Math.min(2, ...keyLines.map(far));
    return keyLines.filter((line) => far(line) <= least)
      .sort((a, b) => slips(name, a.low[0]) - slips(name, b.low[0]));
  };
  // What of a query is a key: all of it, a word with / or _, a word with a number behind it.
  const VALUED = /^["'`]?\s*[:=]\s*["']?(?:[-+]?[\d.]|nan|inf|tensor|np\.)/;
  const NAME = /[a-z][\w./@+-]*\w/g;
  const A_LINE = 3, ODD = /^(?:nan|inf|infinity|none|null|true|false)$/; // so many keys are a line of a log
  const logged = (query) => {
    const low = query.toLowerCase().trim(), whole = low.replace(BARE, "");
    const asKey = query.includes(whole); // KL is not the key kl
    const names = [...low.matchAll(NAME)].filter(({ 0: name, index }) =>
      /[/_]/.test(name) || VALUED.test(low.slice(index + name.length))).map(([name]) => name);
    const spaced = keyLines.filter(({ low: [key] }) => key.includes(" ") &&
      (whole === key || (low.includes(key) && VALUED.test(low.slice(low.indexOf(key) + key.length)))));
    const plain = keyLines.filter(({ low: [key], like, today }) =>
      key === whole ? today && asKey || !/^[a-z]+$/.test(key) || !there(key) : key.includes("*") && like.test(whole));
    const found = [...new Set([...plain, ...spaced, ...[...new Set(names)].flatMap(ofKey)])];
    if (!found.length) return [];
    const of = new Set(found.map(({ quantity }) => quantity)), broken = /(?<![a-z])(?:nan|inf|infinity)(?![a-z])/.test(low);
    const rest = terms(low).filter((term) => !names.some((name) => name.includes(term)));
    const page = index.find(({ symptoms }) => symptoms), calls = named(low);
    const seen = (page?.sections ?? []).map((section) => {
      const [title] = section.low, own = (KEYS.symptoms[section.anchor] ?? []).filter((name) => of.has(name));
      const fits = rest.filter((term) => places(title, term).length).length + 20 * (broken && /nan/.test(title));
      const called = rest.length > 1 && calls.find((hit) => hit.section === section)?.points;
      return { page, section, wanted: [...rest, "nan"], points: (own.length || called) && own.length + 2 * fits + (called || 0) };
    });
    const lines = found.map((section) => ({ page: keyPage, section, wanted: [section.low[0]] }));
    const shown = seen.filter(({ points }) => points).sort((a, b) => b.points - a.points);
    // A sentence that names a key, "why is kl = nan", asks for the symptom; a line of a log for its keys.
    const told = !plain.length && calls.length && names.length < A_LINE && split(low.replace(/["'{}]/g, " ")).some((word) => /^[a-z\u3400-\u9fff]+$/.test(word) && !names.includes(word) && !ODD.test(word));
    if (told) for (const hit of shown) hit.points += 10 * (calls.find(({ section }) => section === hit.section)?.points ?? 0);
    if (told) shown.sort((a, b) => b.points - a.points);
    return Object.assign(told ? [...shown, ...lines] : [...lines, ...shown], { names: names.length });
  };

  // The symptoms that a query calls, unless it is but a word or two that tell no change.
  const called = (query) => {
    const said = terms(lower(query)).flatMap((term) => term.split("_"));
    return said.length <= SENTENCE && !reports(query) && !said.some((term) => HAN.test(term) && term.length > 2 * SENTENCE) ? [] : named(query);
  };
  const search = (query, asTyped = false) => {
    const keys = logged(query), typed = keys.length || asTyped ? keys : called(query);
    const words = keys.names > 1 ? { hits: [] } : inWords(query, typed.length > 0 || asTyped);
    const first = words.instead ? called(words.instead) : typed, lines = first.findIndex(({ section }) => !section.quantity);
    const ordered = [...first.slice(0, lines < 0 ? first.length : lines), ...leading(words.hits, query), ...first, ...words.hits], seen = new Set();
    const hits = ordered.filter(({ section }) => !seen.has(section) && seen.add(section));
    return { ...words, hits, log: keys.names > 1 && index.find(({ page }) => /readlog$/.test(page)) };
  };

  // What is called as one asks leads: a chapter, or a section that teaches it, the definition
  // of a term, a section of that title or one that asks the same.
  const asks = (text) => terms(text).join(" ");
  const leading = (hits, query) => {
    const low = lower(query).trim(), rest = hits.filter(({ less }) => !less), ends = HAN.test(low) ? low : ` ${low}`;
    const take = (is) => (at => at < 0 ? [] : rest.splice(at, 1))(rest.findIndex(is));
    const chapter = take(({ page, section }) => section.level === 1 && `${page.name} `.startsWith(`${low} `));
    const glossary = rest.filter(({ page }) => page.page.endsWith("glossary")), [next] = rest.filter((hit) => !glossary.includes(hit));
    const teaches = chapter[0] ?? (next?.page.page.startsWith("chapters/") ? next : undefined);
    const whole = (term) => term.replace(/ ?[(（].*/, "") === low, named = (term) => term === chapter[0]?.page.name;
    const part = (term) => !teaches && low.length > 1 && (term.startsWith(`${low} `) || term.endsWith(ends));
    const defined = [whole, named, part].flatMap((is) => glossary.map((hit) => ({ ...hit, term: hit.section.terms.find((term) => is(lower(term))) }))).find(({ term }) => term);
    const section = take(({ section: { title, level } }) => level > 1 &&
      (lower(title) === low || (asks(lower(title)) === asks(low) && asks(low) !== low)));
    return [...chapter, ...(defined && teaches ? [teaches] : []), ...(defined ? [defined] : []), ...section];
  };

  // A word that the book does not have may be the beginning of one, or misspelt.
  const inWords = (query, asTyped) => {
    const low = lower(query).trim(), asked = terms(low), why = WHY.test(low);
    const lost = asTyped ? [] : asked.filter((term) => !there(term) && !there(`${term}…`) && nearest(term) !== term);
    if (!lost.length) return find(asked, low, why);
    const gone = asked.filter((term) => !lost.includes(term) && !words(term).some(there) && !there(`${term}…`));
    const meant = asked.filter((term) => !gone.includes(term)).map((term) => (lost.includes(term) ? nearest(term) : term));
    const instead = meant.join(HAN.test(low) ? "" : " ");
    return { ...find(meant, instead, why), instead, lost: lost.join(" "), gone: gone.join(" ") };
  };

  const find = (asked, query, why) => {
    const hits = [], seen = new Set(), cut = asked.flatMap(words);
    const all = (wanted) => wanted.length ? index.flatMap((page) => page.sections
      .map((section) => ({ page, section, wanted, points: score(page, section, wanted, query) * (why && page.symptoms ? ASKED : 1) }))
      .filter(({ points }) => points > 0)).sort((a, b) => b.points - a.points) : [];
    const half = () => {
      const more = new Map(), some = cut.filter(there);
      for (const hit of some.flatMap((term) => all([term]))) {
        const sum = more.get(hit.section) ?? { ...hit, wanted: cut, points: 0, held: 0 };
        sum.points += hit.points;
        sum.held += 1;
        more.set(hit.section, sum);
      }
      return [...more.values()].filter(({ held }) => held * 2 >= some.length)
        .sort((a, b) => b.held - a.held || b.points - a.points);
    };
    const take = (some, less) => {
      for (const hit of some) {
        if (!seen.has(hit.section)) hits.push({ ...hit, less });
        seen.add(hit.section);
      }
    };
    take(all(asked));
    if (hits.length < SOME && cut.length > asked.length) take(all(cut)); // a long Chinese query
    if (hits.length < SOME) take(all(cut.map((term) => (/[a-z]$/.test(term) ? `${term}…` : term))), "begins");
    if (hits.length < SOME && cut.length > 1) take(half(), "half");
    return { hits };
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
  // How many places have all the words; or that none has, or that the words are others. What
  // was typed stays one click away.
  const report = (says, query, { hits, instead, lost, gone, log }, asTyped) => {
    const less = hits[0]?.less, count = hits.filter((hit) => hit.less === less).length;
    const [before, after] = WORDS.none.split("{}");
    const text = instead ? WORDS.instead : WORDS[less ?? "found"];
    says.textContent = query && (hits.length
      ? text.replace("{}", count).replace("{word}", instead ?? query).replace("{lost}", lost) : before);
    if (!query) return;
    if (instead) {
      says.append(gone && ` ${WORDS.gone.replace("{}", gone)}`, " ");
      add(says, "button", { type: "button", onclick: asTyped, textContent: WORDS.typed.replace("{}", query) });
    }
    if (log) says.append(". "), add(says, "a", { href: `${root}${log.page}.html`, textContent: WORDS.log });
    if (hits.length) return;
    add(says, "a", { href: `${root}book/glossary.html`, textContent: WORDS.glossary });
    says.append(after);
  };
  const address = ({ page, section }) =>
    `${root}${page.page}.html${section.anchor && "#" + section.anchor}`;

  // ---- the page of results: a group for each page of the book ------------------------------

  const item = (hit) => {
    const { section, wanted } = hit, item = document.createElement("li");
    mark(add(item, "a", { href: address(hit) }), section.level > 1 ? section.title : (WORDS.asks[hit.page.page] ?? WORDS.opening), wanted);
    if (section.side) add(item, "small", { textContent: WORDS.side });
    // Where the title has the word, prose says more than a row of a table with it.
    const told = wanted.some((term) => places(section.low[0], term).length) && prose(section.text).join("\n");
    mark(add(item, "p"), section.quantity ? around(section.text, [], 2 * EXCERPT) : excerpt(told || section.text, wanted), wanted);
    return item;
  };

  const group = (hits) => {
    const box = document.createElement("section"), rest = hits.slice(A_GROUP);
    add(box, "h2", { textContent: hits[0].page.title });
    const list = (parent, some) => add(parent, "ol").append(...some.map(item));
    list(box, hits.slice(0, A_GROUP));
    if (!rest.length) return box;
    const fold = add(box, "details");
    add(fold, "summary", { textContent: WORDS.more.replace("{}", rest.length) });
    fold.addEventListener("toggle", () => list(fold, rest), { once: true });
    return box;
  };

  const resultsPage = (field) => {
    const says = document.getElementById("search-says"), results = document.getElementById("search-results");
    const show = (asTyped = false) => {
      const query = field.value.trim(), found = search(query, asTyped), first = found.hits[0]?.less;
      results.replaceChildren();
      for (const less of new Set(found.hits.map((hit) => hit.less))) {
        const pages = new Map();
        for (const hit of found.hits.filter((hit) => hit.less === less))
          pages.set(hit.page, [...(pages.get(hit.page) ?? []), hit]);
        if (less !== first) add(results, "p", { className: "search-half", textContent: WORDS[`${less}More`] });
        results.append(...[...pages.values()].map(group));
      }
      report(says, query, found, () => (show(true), field.focus()));
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

  // ---- the dialog: the best hits under the field, to be walked with the arrow keys; the
  // first is marked, and Enter opens what is marked --------------------------------------

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
    const show = (asTyped = false) => {
      const query = field.value.trim(), found = search(query, asTyped), seen = {};
      const { hits } = found;
      const best = hits.filter(({ page }) => (seen[page.title] = (seen[page.title] ?? 0) + 1) <= A_PAGE);
      const first = best.slice(0, HITS);
      list.replaceChildren();
      for (const hit of first) {
        const link = option(address(hit)), { wanted } = hit;
        mark(add(link, "b"), hit.term ?? hit.section.title, wanted);
        if (hit.section.level > 1 && hit.section.title !== hit.page.title)
          mark(add(link, "small"), hit.page.title, wanted);
        else if (WORDS.asks[hit.page.page])
          add(link, "small", { textContent: WORDS.asks[hit.page.page] });
        if (hit.section.side) add(link, "small", { textContent: ` · ${WORDS.side}` });
        if (hit.section.quantity) add(link, "span", { textContent: around(hit.section.text, [], EXCERPT) });
        else if (!link.querySelector("mark"))
          mark(add(link, "span"), excerpt(hit.section.text, wanted, LINE), wanted);
      }
      if (hits.length > first.length)
        option(`${form.action}?q=${encodeURIComponent(query)}`).textContent = WORDS.all.replace("{}", hits.length);
      report(says, query, found, () => (show(true), field.focus()));
      says.classList.toggle("shown", !hits.length || Boolean(found.instead || found.log));
      box.hidden = !query;
      field.ariaExpanded = String(hits.length > 0);
      go(hits.length ? 0 : -1);
    };
    field.addEventListener("input", () => show());
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // these keys choose a sign
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
