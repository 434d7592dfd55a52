/* The page: a box for a log, and what the reader's worker says about it. Text goes into
   the page as text only, so that a key of a log cannot be markup. */
const LIMIT = 30000, MOST = 300;
const { words, names } = SHOW, root = document.getElementById("readlog");
const local = reader(READ);
const el = (tag, props = {}, ...kids) => {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...kids.filter((kid) => kid !== null && kid !== ""));
  return made;
};
const fill = (text, values) => text.replace(/\{(\w*)\}/g, (_, name) => values[name]);
const digits = (x) => {
  const a = Math.abs(x);
  const text = a === 0 ? "0" : a >= 1e5 || a < 1e-3 ? x.toExponential(1) : String(Number(x.toPrecision(3)));
  return text.replace("-", "−");
};
const ends = (line) => {
  const xs = local.finite(line);
  if (!xs.length) return (line || []).some((x) => Number.isNaN(x)) ? "NaN" : "";
  return xs.length < 2 ? digits(xs[0]) : `${digits(local.head(xs))} → ${digits(local.tail(xs))}`;
};
const wordOf = (name) => (names[name] ?? name.replaceAll("_", " "));

const curve = (line) => {
  const every = Math.max(1, Math.ceil(line.length / 160)), points = [];
  for (let i = 0; i < line.length; i += every) {
    if (line[i] !== null && Number.isFinite(line[i])) points.push([line.length > 1 ? (84 * i) / (line.length - 1) : 42, line[i]]);
  }
  const ys = points.map(([, y]) => y), low = Math.min(...ys), high = Math.max(...ys);
  const at = (y) => (high > low ? 28 - (26 * (y - low)) / (high - low) : 15);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 84 30");
  svg.setAttribute("aria-hidden", "true");
  const draw = (tag, given) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    svg.append(made);
  };
  if (points.length > 1) draw("path", { d: "M" + points.map(([x, y]) => `${x.toFixed(1)} ${at(y).toFixed(1)}`).join("L") });
  if (points.length) { const [x, y] = points[points.length - 1]; draw("circle", { cx: x, cy: at(y), r: 2.5 }); }
  return svg;
};

/* ---- what is said ---- */
const rule = new Map(READ.rules.map((one, n) => [one.id, { ...one, ...SHOW.rules[n] }]));
const titled = (id) => {
  const { title, link } = rule.get(id);
  return link ? el("a", { href: `symptoms.html#${id}`, textContent: title }) : el("span", { textContent: title });
};
const keyOf = (log, name) => { for (const [key, found] of log.names) if (found[0] === name) return key; return ""; };
const card = (id, log) => {
  const told = rule.get(id);
  const lines = [...local.quantities(rule.get(id).tree)].filter((name) => names[name] && local.finite(log.lines.get(name)).length)
    .map((name) => [wordOf(name), keyOf(log, name), log.lines.get(name)]);
  if (rule.get(id).needs.includes("components")) for (const [name, line] of log.parts) lines.push([wordOf("component"), name, line]);
  return el("article", { className: "rl-card" }, el("h4", {}, titled(id)),
    el("ul", {}, ...lines.slice(0, 6).map(([word, key, line]) => el("li", {}, curve(line),
      el("span", {}, `${word} `, el("b", { textContent: ends(line) }), el("br"), el("code", { textContent: key }))))),
    told.but ? el("p", { textContent: words.or + told.but }) : null,
    told.code ? el("p", { className: "rl-quiet", textContent: words.code }) : null);
};
const heading = (text) => el("h3", { textContent: text });
const fold = (text, count, ...kids) => (count ? el("details", {}, el("summary", { textContent: `${text} (${count})` }), ...kids) : null);
const list = (items) => el("ul", {}, ...items.map((parts) => el("li", {}, ...parts)));
const keyRows = document.getElementsByClassName("rl-rows");
const cell = (place, n) => { // of the table of all keys, which the page has below
  const row = keyRows[0]?.querySelectorAll("tbody tr")[place];
  return row ? [...row.cells[n].cloneNode(true).childNodes] : null;
};
const keyTable = (log) => {
  const rows = [...log.names].slice(0, MOST).map(([key, [name, , place]]) => {
    const line = log.lines.get(name) || log.parts.get(key.toLowerCase().replaceAll("train/", "").replace(/\/mean$/, ""));
    return el("tr", {}, el("th", { scope: "row" }, el("code", { textContent: key })),
      el("td", {}, ...(cell(place, 1) ?? [name === "-" ? "" : wordOf(name)])), el("td", { textContent: name === "-" ? "" : ends(line) }),
      el("td", {}, ...(cell(place, 2) ?? [])));
  });
  const head = el("tr", {}, ...["key", "word", "ends", "what"].map((name) => el("th", { scope: "col", textContent: words[name] })));
  return el("div", { className: "rl-table", tabIndex: 0, role: "group", ariaLabel: words.keys }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
};
const ADVICE = { verdict: ["success"], lengths: ["length_right"], groups: ["equal_groups"], gap: ["gap_abs", "gap_kl", "gap_mult", "gap_prob"], gradient: ["grad_norm"] };
const say = (result) => {
  const { log, verdicts, places } = result, level = (id) => rule.get(id).level;
  const held = (...levels) => verdicts.filter((one) => one.holds && levels.includes(level(one.id))).map((one) => one.id);
  const chain = (name) => places.filter((id) => level(id) === name);
  const rest = held(...SHOW.alarms).filter((id) => !places.includes(id)), notes = held("note"), fine = held("normal");
  const sure = chain("definition"), look = chain("look");
  const unseen = verdicts.filter((one) => one.holds === false && level(one.id) !== "normal");
  const missing = verdicts.filter((one) => one.holds === null);
  const wants = (one) => {
    const what = one.missing[0] === "rows" ? words.rows : one.missing.slice(0, 4).map(wordOf).join(words.comma);
    return [titled(one.id), ` ${words.needs}${what}`];
  };
  const todo = Object.entries(ADVICE).filter(([, there]) => !there.some((name) => log.lines.has(name)));
  return [
    heading(words.keys), keyTable(log),
    log.unknown.length ? fold(words.unknown, log.unknown.length, el("p", {}, el("code", { textContent: log.unknown.slice(0, MOST).join("  ") }))) : null,
    ...(fine.length ? [heading(words.normal), ...fine.map((id) => card(id, log))] : []),
    ...(sure.length ? [heading(words.definition), ...sure.map((id) => card(id, log))] : []),
    ...(look.length ? [heading(words.look), ...look.map((id) => card(id, log))] : []),
    look.length > 1 ? el("p", { className: "rl-quiet", textContent: words.then }) : null,
    places.length ? null : el("p", { textContent: words.nothing }),
    fold(words.more, rest.length, ...rest.map((id) => card(id, log))),
    fold(words.note, notes.length, ...notes.map((id) => card(id, log))),
    ...(todo.length ? [heading(words.next), list(todo.map(([name]) => [words[name]]))] : []),
    fold(words.missing, missing.length, list(missing.map(wants))),
    fold(words.unseen, unseen.length, el("p", { textContent: words.unseen_note }), list(unseen.map((one) => [titled(one.id)]))),
  ].filter(Boolean);
};

/* ---- the worker: made of the reader's own text, gone after each log ---- */
let running = null;
const work = (files) => new Promise((done, fail) => {
  const text = `const read = (${reader})(${JSON.stringify(READ)});
    onmessage = ({ data }) => {
      const texts = data.map(([what, name]) => [typeof what === "string" ? what : read.decode(new Uint8Array(what)), name]);
      postMessage({ ...read.read(texts), cut: texts.some(([one]) => one.length > 12e6), shown: texts.map(([one]) => one.slice(0, 2e5).replace(/[^\\P{Cc}\\s]/gu, "")).join("\\n") });
    };`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(address);
  const end = (then) => { clearTimeout(timer); worker.terminate(); URL.revokeObjectURL(address); running = null; then(); };
  const timer = setTimeout(() => end(() => fail(new Error(words.slow))), LIMIT);
  running = () => end(() => {});
  worker.onmessage = ({ data }) => end(() => done(data));
  worker.onerror = (error) => { error.preventDefault(); end(() => fail(new Error(words.none))); };
  worker.postMessage(files);
});
const read = async (files, focus = true) => {
  running?.();
  status.textContent = words.reading;
  out.replaceChildren();
  let result;
  try { result = await work(files); } catch (error) { status.textContent = error.message; return; }
  if (typeof files[0][0] !== "string") box.value = result.shown;
  const { log } = result, known = log.names.size;
  const summary = { library: log.library || words.no_library, rows: log.rows, known, unknown: log.unknown.length, places: result.places.length };
  status.textContent = (result.cut ? `${words.cut} ` : "") + (known ? fill(words.found, summary) : log.unknown.length ? words.foreign : words.none);
  if (!known) return;
  out.replaceChildren(...say(result));
  if (focus) out.focus({ preventScroll: true });
};
const open = async (files) => {
  if (!files.length) return;
  status.textContent = words.reading;
  read(await Promise.all([...files].slice(0, 200).map(async (file) => [await file.slice(0, 5e7).arrayBuffer(), file.name])));
};

/* ---- the box ---- */
const box = el("textarea", { id: "rl-log", spellcheck: false, wrap: "off", placeholder: words.hint, autocomplete: "off" });
box.setAttribute("aria-describedby", "rl-private");
const button = (name, onclick, className = "") => el("button", { type: "button", textContent: words[name], onclick, className });
const file = el("input", { type: "file", multiple: true, onchange: () => { open([...file.files]); file.value = ""; } });
const go = () => read([[box.value, ""]]);
const status = el("p", { className: "rl-status" });
status.setAttribute("role", "status");
const out = el("div", { tabIndex: -1, className: "rl-out" });
box.onkeydown = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); go(); } };
root.append(el("label", { htmlFor: "rl-log", textContent: words.log }), box,
  el("div", { className: "rl-bar" }, button("go", go, "rl-go"), el("label", { className: "rl-file" }, words.pick, file),
    button("example", () => { box.value = SHOW.example; go(); }),
    button("clear", () => { running?.(); box.value = status.textContent = ""; out.replaceChildren(); box.focus(); })),
  el("p", { id: "rl-private", className: "rl-quiet", textContent: words.private }), status, out);
for (const kind of ["dragenter", "dragover"]) root.addEventListener(kind, (event) => { event.preventDefault(); root.classList.add("rl-drop"); });
root.addEventListener("dragleave", (event) => { if (!root.contains(event.relatedTarget)) root.classList.remove("rl-drop"); });
root.addEventListener("drop", (event) => {
  event.preventDefault();
  root.classList.remove("rl-drop");
  if (event.dataTransfer.files.length) open(event.dataTransfer.files);
  else { box.value = event.dataTransfer.getData("text"); go(); }
});
