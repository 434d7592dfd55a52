// The parts of the page, and the texts of its controls. Words come with the page, in its language;
// a part without words shows its own name.
const { rows: ROWS, levels: LEVELS, words: WORDS } = DATA;
const STORIES = [...DATA.stories, ...LEVELS], TASKS = { ...DATA.tasks, ...DATA.level_tasks };
const METRICS = { // how each chart is scaled
  success: { min: 0, max: 1 }, reward: { least: 1 }, length: { least: 4 },
  entropy: { least: 0.5 }, kl: { least: 0.5 }, clipped: { least: 0.1 },
  dead: { min: 0, max: 1 }, cosine: { min: -1, max: 1 },
};
const SPEEDS = { slow: 8, normal: 30, fast: 120 }; // iterations a second
const BOTH = ["A", "B"];

const root = document.getElementById("playground");
const $ = (css) => root.querySelector(css), $$ = (css) => [...root.querySelectorAll(css)];
const each = (list, f) => list.map(f).join("");
const word = (kind, id) => WORDS[kind]?.[id] ?? String(id);
const ui = (id) => word("ui", id);
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function dialName(name) {
  if (WORDS.dial[name]) return WORDS.dial[name];
  const { of, dial } = DIALS[name];
  return `${word("dial", of)}: ${dial}`;
}
const write = (element, text) => { // a change costs a layout
  if (element.textContent !== text) element.textContent = text;
};
const gap = /^zh/.test(document.documentElement.lang) ? "" : " "; // between sentences
const valueName = (value) =>
  WORDS.choice[value] ?? (typeof value === "number" ? String(+value.toPrecision(4)) : value);

// ---- the parts of the page ----

const legend = (side) =>
  `<span class="pg-key pg-key-${side}" aria-hidden="true"></span><b>${side}</b>`;
const option = (value, text) => `<option value="${escaped(value)}">${text}</option>`;

function control(name, side) {
  const label = escaped(`${dialName(name)}, ${side}`);
  const at = `data-dial="${name}" data-side="${side}" aria-label="${label}"`;
  const values = name === "algorithm" ? Object.keys(ROWS) : DIALS[name].values;
  if (DIALS[name]?.choice === false)
    return `<input type="range" min="0" ${at}><output></output>`;
  const options = each(values, (value) => option(String(value), valueName(value)));
  return `<span class="pg-pick"><b></b><select ${at}>${options}</select></span>`; // b wraps
}

const setOf = (name, side, head = "") =>
  `<span class="pg-set" data-of="${side}">${head}${control(name, side)}</span>`;

function dialRow(name) {
  const even = `${ui("copy_b")}: ${dialName(name)}`;
  return `<div class="pg-dial" data-row="${name}">
    <span class="pg-name">${dialName(name)}</span>
    <button class="pg-even" data-even="${name}" aria-label="${even}" title="${even}">=</button>
    ${each(BOTH, (side) => setOf(name, side, `<b>${side}</b>`))}<small class="pg-idle"></small></div>`;
}

function stageBox(stage) {
  const task = `<div class="pg-dial pg-task">
    <label class="pg-name" for="pg-task">${word("dial", "task")}</label>
    <span class="pg-set pg-wide"><select id="pg-task">${
      each(Object.keys(DATA.tasks), (name) => option(name, word("task", name)))}</select></span>
    </div>${dialRow("algorithm")}`;
  const own = Object.keys(DIALS).filter((name) => DIALS[name].stage === stage);
  return `<div class="pg-stage" id="pg-stage-${stage}" role="group"
    aria-label="${word("stage", stage)}" hidden>
    <b class="pg-of" aria-hidden="true">${word("stage", stage)}</b>${stage === "prompt" ? task : ""}${each(own, dialRow)}
    <details class="pg-fold"><summary></summary></details></div>`;
}

function stageButton(stage) {
  return `<li><button data-stage="${stage}" aria-expanded="false"
    aria-controls="pg-stage-${stage}"><b>${word("stage", stage)}</b><span></span></button></li>`;
}

const chartBox = (name) => `<figure class="pg-chart" data-chart="${name}">
  <figcaption>${word("chart", name)}<small></small></figcaption><canvas role="img"></canvas>
  <p class="pg-quiet" hidden></p>${
    name === "cosine" ? `<button class="pg-freeze">${ui("freeze")}</button>` : ""}</figure>`;

// A phone shows the pictures of one side in the place of the other's.
const sidesBox = () => `<fieldset class="pg-sides"><legend>${ui("sides")}</legend>${
  each([...BOTH, "both"], (side) => `<label><input type="radio" name="pg-sides"
    value="${side}"${side === "both" ? " checked" : ""}><span>${
    side === "both" ? ui(side) : side}</span></label>`)}</fieldset>`;

const CLOSE = `<button class="pg-close" aria-label="${ui("close")}">×</button>`;
const pair = (inside) => `<div class="pg-pair">${each(BOTH, (side) =>
  `<div data-of="${side}"><p class="pg-side">${legend(side)} <span class="pg-tip"></span></p>
  ${inside(side)}</div>`)}</div>`;

function build() {
  const story = ({ id, title }) => `<li><button data-story="${id}">${title}</button></li>`;
  const tale = ({ id, title }, n, { length }) => option(id, `${n + 1}/${length} ${title}`);
  const sign = (kind) => `<span class="pg-sign" data-sign="${kind}">${ui(kind)}</span>`;
  const python = (side) =>
    `<button class="pg-python" data-side="${side}">${ui("copy_python")}: ${side}</button>`;
  root.innerHTML = `
<nav class="pg-stories" aria-label="${ui("stories")}"><p class="pg-do">${ui("choose")}</p>
  <p class="pg-kind">${ui("paint")}</p><ol>${each(LEVELS, story)}</ol>
  <p class="pg-kind">${ui("stories")}</p><ol>${each(DATA.stories, story)}</ol>
  <select class="pg-tales" aria-label="${ui("stories")}"><option value="" hidden disabled>${ui("own")}</option>
    <optgroup label="${ui("paint")}">${each(LEVELS, tale)}</optgroup>
    <optgroup label="${ui("stories")}">${each(DATA.stories, tale)}</optgroup></select></nav>
<div class="pg-main">
  <p class="pg-note" role="status" hidden></p>
  <div class="pg-head">
    <div><h2></h2><p class="pg-given"></p><div class="pg-bet"></div><p class="pg-watch" aria-live="polite"></p>
      <p class="pg-reason" id="pg-reason" hidden></p></div>
    <div class="pg-differs"><div></div><label class="pg-two"><input type="checkbox"> ${ui("two")}</label></div>
  </div>
  <div class="pg-thread">
    <ol>${each(STAGES, stageButton)}</ol>
    <button class="pg-all" aria-expanded="false">${ui("all_dials")}</button>
  </div>
  <div class="pg-bar">
    <button class="pg-play"></button>
    <input type="range" class="pg-scrub" min="0" value="0" aria-label="${ui("scrub")}">
    <span class="pg-count"><b></b></span>
    <button class="pg-why" aria-expanded="false" aria-controls="pg-reason">${ui("why")}</button>
    <button class="pg-step">${ui("step")}</button>
    <button class="pg-more" aria-expanded="false" aria-label="${ui("controls")}">…</button>
    <button class="pg-reset">${ui("reset")}</button>
    <label class="pg-speed"><span>${ui("speed")}</span>
      <select aria-label="${ui("speed")}">${each(Object.keys(SPEEDS), (name) => option(name, ui(name)))}</select></label>
    <button class="pg-link">${ui("copy_link")}</button>
    <button class="pg-picture">${ui("copy_picture")}</button>
  </div>
  <div class="pg-body">
    <div>
      ${sheetBox()}
      <div class="pg-charts"><p class="pg-do"><span class="pg-parting"></span> <label class="pg-axis"><span>${ui("axis")}</span>
        <select aria-label="${ui("axis")}">${each(["iterations", "samples"], (name) => option(name, ui(name)))}</select></label></p>
        <div class="pg-told"><p class="pg-parted"></p><p class="pg-cap pg-seeds">${ui("seeds")}</p></div>
        <p class="pg-do pg-others">${ui("others")}</p>${each(Object.keys(METRICS), chartBox)}</div>
      <div class="pg-share">${each(BOTH, python)}</div>
      <div class="pg-code" hidden><p class="pg-cap"></p><pre tabindex="0"></pre></div>
    </div>
    ${satisfiedBox()}
    <div>
      <div class="pg-prompts" role="group" aria-label="${word("stage", "prompt")}"></div>
      <h3>${ui("icicle")}</h3>
      <p class="pg-cap"><span class="pg-about">${ui("icicle_about")}</span></p>
      ${sidesBox()}
      <p class="pg-cap pg-signs">${each(["up", "alt", "down", "line"], sign)}</p>
      ${pair((side) => `<canvas class="pg-icicle" role="img" data-icicle="${side}"></canvas>`)}
      <h3>${ui("group")}</h3>
      <p class="pg-cap">${ui("group_about")}</p>
      ${pair((side) => `<div data-group="${side}"></div>`)}
    </div>
  </div>
</div>
<div class="pg-drawer" hidden>
  ${CLOSE}
  <div>${each([0, 3], (n) => `<div>${each(STAGES.slice(n, n + 3), stageBox)}</div>`)}</div>
</div>`;
}

// ---- what it shows ----

const filled = (id, values) => ui(id).replace(/\{(\w+)\}/g, (_, name) => values[name]);

// A run of the reader's own settings has the name of its algorithm.
function ownLine() {
  const { A, B } = state.set, [name] = differing();
  if (!state.two || !name) return A.algorithm;
  const same = A.algorithm === B.algorithm;
  const called = (side) =>
    `${side} ${same ? valueName(state.set[side][name]) : state.set[side].algorithm}`;
  const whole = BOTH.map(called).join(" · ");
  return same ? `${A.algorithm}${ui("comma")}${dialName(name)}: ${whole}` : whole;
}

// What to watch tells the ending: it comes when a run that can be bet on has ended.
function showWatch() {
  const own = root.matches(".pg-own"), told = !own && (!askable() || apart);
  const { level, iterations: end, watch } = storyNow();
  $(".pg-given").innerHTML =
    (own ? `<b>${escaped(ownLine())}</b><br>` : "") + escaped(word("about", state.task));
  $(".pg-watch").textContent = told ? watch : "";
  $(".pg-why").disabled = !told || (level && iterations < end);
  $(".pg-why").title = $(".pg-why").disabled ? ui("why_not") : "";
  if ($(".pg-why").disabled) reason(false);
  showBet();
}

// The reason behind a story, if it is wanted.
function reason(wanted) {
  $(".pg-reason").hidden = !wanted;
  $(".pg-why").setAttribute("aria-expanded", wanted);
}

// Which kinds of responses there are.
function showSigns() {
  const { tree } = runs.A[0], q = state.prompt, earns = earned(tree, q), there = new Set();
  tree.child.forEach((next, k) => next === CLOSED && there.add(kindOf(tree, q, k, earns)));
  for (const sign of $$("[data-sign]")) sign.hidden = !there.has(sign.dataset.sign);
}

// The dials in which the sides differ, or would, as far as they say something.
function differing() {
  const { A, B } = state.set;
  return Object.keys(A).filter((name) => {
    if (A[name] === B[name]) return false;
    if (name === "algorithm") return true;
    const { of } = DIALS[name];
    const speaks = sides().some((side) => !idle(name, state.set[side], taskNow()));
    return speaks && !(of && A[of] !== B[of]); // another part has other dials
  });
}

// The values of a range: its own, the algorithm's, and where it stands.
function steps(name, side) {
  const set = state.set[side], own = dialsOfRow(ROWS[set.algorithm])[name];
  const rank = (value) => (value === NONE ? -Infinity : Number(value));
  return [...new Set([...DIALS[name].values, own, set[name]])]
    .sort((one, two) => rank(one) - rank(two));
}

function showStory() {
  const story = storyNow();
  for (const button of $$("ol [data-story]"))
    button.setAttribute("aria-current", button.dataset.story === story.id);
  const own = !story.level && (!state.two || isTurned(state, story, ROWS));
  root.classList.toggle("pg-own", own);
  $(".pg-tales").value = own ? "" : story.id; // the list, where there is no room for it
  $(".pg-head h2").textContent = own ? ui("own") : story.title;
  $(".pg-parting").textContent = ui(state.two ? "parting" : "alone");
  showWatch();
  $(".pg-reason").innerHTML =
    `${CLOSE}${escaped(story.why)} <a href="${story.chapter}">${ui("read")}</a>`;
  for (const figure of $$("[data-chart]")) {
    const place = story.charts.indexOf(figure.dataset.chart);
    figure.classList.toggle("pg-big", place >= 0);
    figure.style.order = place >= 0 ? place - 9 : "";
  }
  const asks = WORDS.ask[state.task] ?? [];
  $(".pg-prompts").innerHTML = each(asks, (text) => `<button>${text}</button>`);
  $$(".pg-prompts button").forEach((button, q) => {
    button.dataset.prompt = q;
    button.setAttribute("aria-pressed", q === state.prompt);
  });
  showSigns();
}

function showDials() {
  const { A, B } = state.set, differ = differing();
  const [first = "algorithm"] = differ;
  const few = first === "algorithm" ? [first] : differ.slice(0, 2); // it brings others along
  const box = $(".pg-differs > div"), more = state.two && differ.length > few.length;
  const list = [state.two, differ.length, ...few].join();
  if (box.dataset.list !== list) {
    box.dataset.list = list;
    const row = (name) => `<div class="pg-diff"><span class="pg-name">${dialName(name)}</span>
      ${each(BOTH, (side) => setOf(name, side, `${legend(side)} `))}</div>`;
    const head = !state.two ? "turn" : differ.length ? "differs" : "same";
    const text = more && filled("more", { n: differ.length - few.length });
    box.innerHTML = `<p class="pg-do">${ui(head)}</p>${each(few, row)}${
      text ? `<button class="pg-all">${text}</button>` : ""}`;
  }
  for (const control of $$("[data-dial]")) showValue(control);
  for (const row of $$("[data-row]")) {
    const name = row.dataset.row;
    row.classList.toggle("pg-differ", state.two && A[name] !== B[name]);
  }
  STAGES.forEach(foldIdle);
  for (const button of $$("[data-stage]")) {
    const stage = button.dataset.stage, own = differ.filter((name) =>
      (name === "algorithm" ? "prompt" : DIALS[name].stage) === stage);
    button.classList.toggle("pg-lit", own.length > 0);
    write(button.querySelector("span"), own.length ? dialName(own[0]) : summary(stage));
  }
  $("#pg-task").value = state.task;
  $(".pg-axis select").value = state.axis;
  $(".pg-two input").checked = state.two;
  root.classList.toggle("pg-one", !state.two);
}

function showValue(control) {
  const { dial: name, side } = control.dataset, value = state.set[side][name];
  if (control.type !== "range") {
    control.value = String(value);
    write(control.previousElementSibling, valueName(value));
    return;
  }
  const values = steps(name, side);
  control.max = values.length - 1;
  control.value = values.indexOf(value);
  control.style.setProperty("--p", control.value / Math.max(1, control.max));
  control.setAttribute("aria-valuetext", valueName(value));
  write(control.nextElementSibling, valueName(value));
}

// Why a dial says nothing, by side where they differ, and whether it does on neither.
function reasonOf(name) {
  const why = name === "algorithm"
    ? [] : sides().map((side) => idle(name, state.set[side], taskNow()));
  const text = why.every((one) => one === why[0])
    ? why[0] ? word("idle", why[0]) : ""
    : why.map((one, n) => one && `${BOTH[n]}: ${word("idle", one)}`).filter(Boolean).join(" · ");
  return { text, dim: why.length > 0 && why.every(Boolean) };
}

// The dials of a stage that say nothing on either side are folded, under each reason once.
// A row moves only where it must: the reader may hold its control.
function foldIdle(stage) {
  const box = $(`#pg-stage-${stage}`), fold = box.querySelector(".pg-fold");
  const groups = new Map(), said = []; // by reason, and those that say something
  const names = Object.keys(DIALS).filter((name) => DIALS[name].stage === stage);
  for (const name of [...(stage === "prompt" ? ["algorithm"] : []), ...names]) {
    const row = box.querySelector(`[data-row="${name}"]`), { text, dim } = reasonOf(name);
    row.classList.toggle("pg-dim", dim);
    const group = dim ? groups.get(text) ?? groups.set(text, []).get(text) : said;
    write(row.querySelector(".pg-idle"), dim && group.length ? "" : text);
    group.push(row);
  }
  const folded = [...groups.values()].flat();
  const place = (rows, parent, last) => rows.reduceRight((next, row) => {
    if (row.parentNode !== parent || row.nextElementSibling !== next)
      parent.insertBefore(row, next);
    return row;
  }, last);
  place(folded, fold, null);
  place(said, box, fold);
  fold.hidden = !folded.length;
  write(fold.querySelector("summary"), filled("idle_dials", { n: folded.length }));
}

// A stage of side A in a few signs.
function summary(stage) {
  const { A } = state.set;
  return {
    prompt: `${A.prompts} × ${A.group_size}`,
    tokens: A.refresh > 1 ? filled("every", { n: A.refresh }) : `τ = ${A.temperature}`,
    reward: A.kl_coef ? `β = ${A.kl_coef}` : `σ = ${A.noise}`,
    credit: valueName(A.advantage),
    weight: valueName(A.loss),
    gradient: `${valueName(A.optimizer)}, ${A.lr}`,
  }[stage];
}

// Why a chart has nothing to show, if it has not.
function quiet(name) {
  const sets = sides().map((side) => state.set[side]);
  if (name === "clipped" && sets.every(isFresh)) return "clipped";
  if (name !== "cosine") return undefined;
  if (sets.some((set) => set.minibatches > 1)) return "batches";
  const none = sides().every((side) => history[side].cosine[0].every((x) => x !== x));
  return iterations > 3 && none ? "cosine" : undefined;
}

// The last group of a run: a line for each response to prompt q, a chip for each word.
function group({ batch: b, tree }, q) {
  const mine = [];
  for (let i = 0; i < b.B && mine.length < 8; i++)
    if (b.prompt[i] === q && b.kept[i] && b.groups[i] === b.groups[mine[0] ?? i])
      mine.push(i);
  if (!mine.length) return `<p class="pg-cap">${ui("dropped")}</p>`;
  const largest = (values) =>
    Math.max(1e-12, ...mine.flatMap((i) => b.tokens[i].map((j) => Math.abs(values[j]))));
  const credit = largest(b.advantages), weight = largest(b.slope);
  const chip = (j, live) => {
    const text = escaped(word("say", tree.words[b.token[j]]));
    if (!live) return `<span class="pg-chip" title="${ui("world")}"><b>${text}</b></span>`;
    const A = b.advantages[j], c = Math.sign(A) * Math.sqrt(Math.abs(A) / credit);
    return `<span class="pg-chip on${b.slope[j] === 0 ? " dead" : ""}"
      style="--c:${c.toFixed(2)};--b:${(-b.slope[j] / weight).toFixed(2)}"
      title="A ${A.toFixed(2)} · ρ ${Math.exp(b.ratio[j]).toFixed(2)}"><b>${text}</b></span>`;
  };
  return each(mine, (i) => {
    const places = Array.from({ length: b.length[i] }, (_, t) => i * b.T + t);
    const paid = String(+b.paid[i].toFixed(2)).replace("-", "−");
    return `<div class="pg-row${b.T > 6 ? " pg-tight" : ""}">
      <span class="pg-score ${b.right[i] ? "up" : "down"}">${b.right[i] ? "✓" : "✗"} ${paid}</span>
      <span class="pg-words">${each(places, (j) => chip(j, b.tokens[i].includes(j)))}</span></div>`;
  });
}

// A description of the pictures for readers who do not see them.
function describe() {
  const last = (line) => line[line.length - 1] ?? NaN;
  for (const figure of $$("[data-chart]")) {
    const name = figure.dataset.chart;
    const text = sides().map((side) => `${side} ${show(common(linesOf(side, name).map(last)))}`);
    figure.querySelector("canvas").setAttribute("aria-label",
      `${word("chart", name)}: ${ui("median")} ${text.join(", ")} (${ui("after")} ${iterations})`);
  }
  for (const side of sides()) {
    const best = [...leaves[side]].sort((one, two) => two.chance - one.chance).slice(0, 3);
    $(`[data-icicle=${side}]`).setAttribute("aria-label",
      `${ui("icicle")}, ${side}: ${best.map((leaf) => told(side, leaf)).join("; ")}`);
  }
}

function told(side, { s, a, chance }) {
  const { prefixes, words } = runs[side][0].tree;
  const said = [...prefixes[s], words[a]].map((letter) => word("say", letter)).join(" ");
  return `${said} ${Math.round(100 * chance)} %`;
}

function note(text) {
  $(".pg-note").hidden = !text;
  $(".pg-note").textContent = text;
}
