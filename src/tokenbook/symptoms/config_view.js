/* The second box of the page: a configuration, and what `configReader` says of it. Text
   goes into the page as text only, so that a field's name cannot be markup. */
function configBox(root, data, lang, places) {
  "use strict";
  const say = {}, labels = {};
  for (const [name, text] of Object.entries(data.words.page)) say[name] = text[lang];
  for (const [name, text] of Object.entries(data.words.labels)) labels[name] = text[lang];
  const report = configReader(data);
  const el = (tag, props = {}, ...kids) => {
    const made = Object.assign(document.createElement(tag), props);
    made.append(...kids.filter((kid) => kid !== null && kid !== ""));
    return made;
  };
  const filled = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => parts[name]);
  const pair = (label, text) => el("p", {}, el("b", { textContent: label + say.colon }), text);
  const entry = (name) => el("a", { href: `zoo.html#${places.zoo[name]}`, textContent: name });
  const list = (...items) => el("ul", {}, ...items.map((item) => el("li", {}, item)));

  function nearest(near) {
    const [before, after] = filled(labels.nearest, { name: "\0", count: near.differs.length }).split("\0");
    const line = el("p", {}, before, entry(near.name), after);
    near.also.forEach((name, n) => line.append(n ? ", " : ` (${labels.also}${say.colon}`, entry(name)));
    if (near.also.length) line.append(")");
    const cell = (text) => el("td", {}, el("code", { textContent: text }));
    const head = el("tr", {}, ...["field", "zoo", "yours"].map((name) => el("th", { scope: "col", textContent: say[name] })));
    const rows = near.differs.map((one) => el("tr", {}, el("th", { scope: "row" }, el("code", { textContent: one.field })), cell(one.zoo), cell(one.yours)));
    const apart = near.apart.map((one) => el("p", { className: "rl-quiet" }, labels.apart + say.colon, el("code", { textContent: one.field }), " " + one.text));
    const table = el("div", { className: "rl-table" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
    return [line, rows.length ? table : null, ...apart];
  }
  function told(one) {
    if (one.problem) return [el("p", { textContent: one.text })];
    const found = [el("h3", { textContent: `${one.library} ${one.version}` })];
    found.push(...one.notes.map((note) => el("p", { className: "rl-quiet", textContent: note })));
    if (one.refused !== null) return [...found, pair(filled(labels.refused, one), one.refused)];
    found.push(el("p", { textContent: one.sizes_text }), pair(labels.ratio, one.ratio), pair(labels.denominator, one.denominator));
    found.push(...nearest(one.nearest));
    if (!one.traps.length) return found;
    const traps = one.traps.map((trap) => {
      const number = filled(labels.chapter, { number: Number(trap.chapter.slice(0, 2)) });
      return el("span", {}, trap.text, el("a", { href: `../chapters/${trap.chapter}.html`, textContent: number }));
    });
    return [...found, el("h4", { textContent: labels.traps }), list(...traps)];
  }

  const box = el("textarea", { id: "readconfig-text", spellcheck: false, placeholder: say.hint });
  const count = el("input", { id: "readconfig-processes", type: "number", min: 1, inputMode: "numeric" });
  const out = el("div", { className: "rl-out", tabIndex: -1 });
  const state = el("p", { className: "rl-quiet" });
  state.setAttribute("role", "status");
  const read = () => {
    const one = report(box.value, lang, Number(count.value) || null);
    out.replaceChildren(...told(one).filter(Boolean));
    state.textContent = one.problem ? "" : `${one.library} ${one.version}`;
    out.focus({ preventScroll: true });
  };
  const take = async (file) => { if (file) { box.value = await file.text(); read(); } };
  const file = el("input", { type: "file", onchange: () => take(file.files[0]) });
  const button = (name, onclick, className = "") => el("button", { type: "button", textContent: say[name], onclick, className });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); read(); }
  });
  box.addEventListener("dragover", (event) => event.preventDefault());
  box.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length) { event.preventDefault(); take(event.dataTransfer.files[0]); }
  });
  root.replaceChildren(
    el("label", { htmlFor: box.id, textContent: say.label }), box,
    el("div", { className: "rl-bar" }, button("read", read, "rl-go"),
      el("label", { className: "rl-file" }, say.file, file),
      button("example", () => { box.value = places.example; read(); }),
      button("clear", () => { box.value = ""; out.replaceChildren(); state.textContent = ""; box.focus(); })),
    el("p", {}, el("label", { htmlFor: count.id, textContent: `${say.processes} ` }), count),
    state, out);
}
