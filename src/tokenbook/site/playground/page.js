// The page at work: runs of both sides, playing, painting, listening.
const SMOOTH = { cosine: 0.8, dead: 0.85, clipped: 0.6 }; // noisy lines
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const trees = {}; // by task, grown once
let state; // story, task, prompt, two sides?, x axis, and the setting of each side
let runs, history; // per side: a run for each seed; per metric a line for each seed
let iterations = 0, marks = []; // where dials were turned
let ran; // the setting of what is on show, if a dial has been turned since
let at = 0, film; // the iteration that is shown; per side what seed 1 was at each
const FILM = 2000; // iterations that are kept
const SEEDS = 8;
let frozen = null; // cosines of resampled batches, if asked for
let ink, leaves = {}; // colours; what stands where in the icicles

const storyNow = () => STORIES.find((one) => one.id === state.story);
const taskNow = () => TASKS[state.task];
const sides = () => (state.two ? BOTH : ["A"]);
const settingNow = (side) => settingOf(state.set[side], ROWS[state.set[side].algorithm]);

// ---- runs ----

function begin() {
  const whole = (trees[state.task] ??= grow(taskNow()));
  const tree = levelNow() ? painted(whole, state.strokes) : whole;
  runs = {};
  history = {};
  film = {};
  iterations = at = 0;
  root.classList.add("pg-fresh");
  marks = [];
  frozen = apart = null;
  for (const side of sides()) {
    const set = settingNow(side);
    runs[side] = Array.from({ length: SEEDS }, (_, n) => new Run(tree, set, n + 1));
    history[side] = {};
    for (const name of ["drawn", ...Object.keys(METRICS)])
      history[side][name] = runs[side].map(() => []);
    const ahead = new Run(tree, set, 1);
    ahead.step();
    film[side] = [shot(runs[side][0], ahead)]; // with the group that comes first
  }
  state.prompt = Math.min(storyNow().prompt ?? 0, tree.P - 1);
  jobs = rhythm();
}

// A run's data for the pictures: its policy, and its last group for each prompt.
const shot = (run, from = run) => ({
  p: Float32Array.from(run.now.p),
  groups: Array.from({ length: run.tree.P }, (_, q) => group(from, q)),
});

// The lines of a chart, one for each seed, from the initial policy on.
const linesOf = (side, name) => iterations ? history[side][name]
  : runs[side].map(({ seen }) => [{ drawn: 0, ...seen }[name] ?? NaN]);

// The next iteration: recorded already, or trained.
function advance() {
  if (at++ < iterations) return;
  for (const side of sides()) {
    runs[side].forEach((run, n) => follow(run, history[side], n));
    if (iterations < FILM) film[side].push(shot(runs[side][0]));
  }
  iterations++;
  root.classList.remove("pg-fresh");
  frozen = null;
}

// One update of one seed, and its numbers; a run that overflowed stops.
function follow(run, lines, n) {
  const drawn = run.drawn;
  if (!run.failed) run.step();
  if (run.failed) return;
  const seen = { ...run.seen, clipped: run.clipped, dead: run.dead, cosine: run.cosine };
  lines.drawn[n].push(drawn);
  run.smooth ??= {};
  for (const name of Object.keys(METRICS)) {
    const x = seen[name], last = run.smooth[name] ?? x, keep = SMOOTH[name] ?? 0;
    if (x === x) run.smooth[name] = last === last ? keep * last + (1 - keep) * x : x;
    lines[name][n].push(x === x ? run.smooth[name] : NaN);
  }
}

// Turn a dial. Runs go on from where they are, unless their table would be another one.
function turned(name, side, value) {
  if (!stale()) ran = JSON.stringify(state.set);
  turn(state.set[side], name, value, ROWS);
  if (!iterations || DIALS[name]?.again) begin();
  else if (runs[side]) {
    at = iterations;
    apart = null;
    const set = settingNow(side);
    for (const run of runs[side]) run.turn(set);
    if (stale()) marks.pop();
    if (ran !== JSON.stringify(state.set)) marks.push(iterations);
    else if (over()) finish();
  }
  sync();
}

// Whether all that is on show came before the last dial was turned.
const stale = () => iterations && marks.at(-1) === iterations;

// Show the state, everywhere.
function sync() {
  showStory();
  showDials();
  showSheet();
  const hash = writeHash(state, storyNow(), ROWS);
  if (location.hash !== hash) window.history.replaceState(null, "", hash);
  if (!$(".pg-code").hidden) code($(".pg-code").dataset.side);
  draw();
}

// ---- pictures ----

function chart(figure) {
  const name = figure.dataset.chart, canvas = figure.querySelector("canvas"), why = quiet(name);
  const note = figure.querySelector(".pg-quiet");
  note.hidden = !why;
  write(note, why ? word("quiet", why) : "");
  figure.classList.toggle("pg-silent", Boolean(why));
  if (why) return;
  plot(name, canvas);
}

function plot(name, canvas) {
  if (name === "cosine" && frozen) { histogram(canvas, frozen, ink); return; }
  const samples = state.axis === "samples";
  const lines = sides().map((side) => ({
    ...(state.two ? { name: side } : { name: "B", text: "" }), // alone, it is a solid line
    lines: linesOf(side, name), at: samples ? linesOf(side, "drawn") : null,
  }));
  const most = lines.flatMap(({ at }) => at ?? []).map((xs) => xs[xs.length - 1] ?? 0);
  const end = samples ? nice(Math.max(100, ...most)) : Math.max(storyNow().iterations, iterations);
  const of = ui(samples ? "samples" : "iteration");
  const from = name === storyNow().charts[0] ? apart?.from : undefined;
  const here = samples ? { marks: [], look: looked() } : { marks, look: looked(), from };
  const empty = !iterations && name === storyNow().charts[0]
    && (askable() && !bet ? ui("bet_or") : "") + ui("press");
  curves(canvas, lines, { ...METRICS[name], ...known(name), of, end, empty, ...here }, ink);
}

// A scale that holds whatever the run comes to.
function known(name) {
  const { tree } = runs.A[0], offsets = sides().map((side) => state.set[side].offset);
  if (name === "length") return { max: tree.T };
  return name === "reward" && { max: nice(highest(tree) + Math.max(0, ...offsets)) };
}

// The iteration that is looked at, if it is not the last.
const looked = () => (at < iterations ? at : undefined);
const shown = (side) => film[side][at] ?? shot(runs[side][0]);

function tree(side, canvas = $(`[data-icicle=${side}]`)) {
  const say = (letter) => word("say", letter);
  const seen = { tree: runs[side][0].tree, now: shown(side) };
  return icicle(canvas, seen, state.prompt, say, ink);
}

const chips = (side) =>
  ($(`[data-group=${side}]`).innerHTML = shown(side).groups[state.prompt]);

function count() {
  const end = Math.max(storyNow().iterations, iterations), scrub = $(".pg-scrub");
  $(".pg-count b").textContent = `${at} / ${end}`;
  scrub.max = end;
  scrub.value = at;
  scrub.style.setProperty("--p", at / end);
  scrub.style.setProperty("--q", iterations / end);
  playButton();
}

// First the canvases, which read their size, then the words, which may change it.
function draw() {
  due = 0;
  $$("[data-chart]").forEach(chart);
  if (levelNow()) levelChart();
  for (const side of sides()) leaves[side] = tree(side);
  if (levelNow()) {
    meters();
    judge();
  }
  sides().forEach(chips);
  count();
  parted();
  describe();
  const failed = sides().flatMap((side) => runs[side]).filter((run) => run.failed).length;
  if (failed) note(`${failed} ${ui("failed")}`);
}

// While a story plays, every picture has its own rhythm (milliseconds). A frame paints the due
// pictures in view while there is time, the oldest first; half as often on a slow machine.
const inView = new Set();
const watch = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes)
    inView[isIntersecting ? "add" : "delete"](target);
});

function rhythm() {
  const jobs = [{ every: 100, run: count }];
  for (const figure of $$("[data-chart]")) {
    const every = figure.classList.contains("pg-big") ? 32 : 200;
    jobs.push({ every, run: () => chart(figure), box: figure });
  }
  if (levelNow()) {
    jobs.push({ every: 50, run: () => levelChart(), box: $("[data-level]") });
    jobs.push({ every: 100, run: meters });
  }
  for (const side of sides()) {
    jobs.push({ every: 64, run: () => { leaves[side] = tree(side); }, box: $(`[data-icicle=${side}]`) });
    jobs.push({ every: 350, run: () => chips(side), box: $(`[data-group=${side}]`) });
  }
  return jobs.map((job) => ({ ...job, last: 0 }));
}

// Look at another iteration of the recorded run: a few milliseconds of pictures a frame.
let due = 0;

function look(n) {
  if (playing) stop();
  at = Math.max(0, Math.min(iterations, Math.round(n)));
  count();
  if (!due) requestAnimationFrame(settle);
  due = performance.now();
}

function settle() {
  const start = performance.now();
  for (const job of jobs) {
    if (job.last >= due || (job.box && !inView.has(job.box))) continue;
    job.run();
    job.last = performance.now();
    if (job.last - start > 5) break;
  }
  if (due && jobs.some((job) => job.last < due && (!job.box || inView.has(job.box))))
    requestAnimationFrame(settle);
  else if (due) draw(); // also pictures out of view, and the words
}

function paint(now) {
  const start = performance.now(), slower = pace > 25 ? 2 : 1;
  jobs.sort((one, two) => one.last - two.last);
  for (const job of jobs) {
    if (now - job.last < job.every * slower || (job.box && !inView.has(job.box))) continue;
    job.run();
    job.last = now;
    if (performance.now() - start > 5) break;
  }
}

// ---- playing ----

let playing = false, beyond = false; // past the story's end, because the reader went on
let before = 0, owed = 0, pace = 0; // last frame; iterations due; milliseconds a frame
let jobs = [];

function frame(now) {
  if (!playing) return;
  const passed = Math.min(now - before, 200), start = performance.now();
  const end = beyond ? Infinity : storyNow().iterations, budget = pace > 25 ? 8 : 14;
  before = now;
  pace = 0.9 * pace + 0.1 * passed;
  owed = Math.min(owed + (passed / 1000) * SPEEDS[$(".pg-speed select").value], 12);
  for (; owed >= 1 && at < end && performance.now() - start < budget; owed--) advance();
  paint(now);
  if (at >= end) finish();
  else requestAnimationFrame(frame);
}

function play() {
  if (playing) return;
  beyond = at >= storyNow().iterations;
  playing = true;
  showWatch();
  before = performance.now();
  owed = 1;
  playButton();
  requestAnimationFrame(frame);
}

// What is watched comes into view: who is satisfied, or the first curve.
function watchRun(always) {
  const behavior = calm.matches ? "auto" : "smooth", [name] = storyNow().charts;
  const box = $(levelNow() ? ".pg-verdict" : `[data-chart=${name}]`);
  if (levelNow() || always || box.getBoundingClientRect().top > 0)
    box.scrollIntoView({ behavior, block: levelNow() ? "start" : "nearest" });
}
const isPhone = () => root.clientWidth < 600;

// The first time that a story has come to its end it rests where A and B are furthest apart, if
// they have met again. The sentence then moves no curve.
function finish() {
  const curve = $(".pg-big") ?? root, top = () => curve.getBoundingClientRect().top, was = top();
  if (!apart && state.two) {
    apart = partingOf(history, storyNow().charts[0], marks.at(-1));
    at = apart.rest;
    settleBet();
  }
  stop();
  scrollBy({ top: top() - was, behavior: "instant" });
}

function stop() {
  playing = false;
  showWatch();
  draw();
}

// At the end of a story the main button begins it again, or runs the new setting.
const over = () => !playing && (stale() ? iterations : at) >= storyNow().iterations;

function playButton() {
  const [sign, does] = playing ? ["❚❚", "pause"] : over() ? ["↺", stale() ? "anew" : "reset"]
    : ["▶", iterations || bet || !askable() ? "play" : "no_bet"];
  root.classList.toggle("pg-stale", stale());
  $(".pg-play").textContent = `${sign} ${ui(does)}`;
  $(".pg-reset").textContent = ui(over() ? "go_on" : "reset");
}

function restart() {
  begin();
  beyond = false;
  bet = null;
  sync();
}

function freeze() {
  if (playing) stop();
  at = iterations;
  frozen = sides().map((side) => ({ name: side, values: runs[side][0].resample(200) }));
}

// Start from an address: a story, perhaps with dials turned.
function start(hash) {
  const { state: named, wrong } = readHash(hash, STORIES, ROWS, TASKS);
  state = named;
  bet = null;
  beyond = playing = false;
  begin();
  if (storyNow().frozen) freeze();
  sync();
  note(wrong.length ? ui("bad_link") + wrong.join(", ") : "");
  if (!calm.matches && !levelNow() && !askable()) play();
}

// ---- sharing ----

function code(side) {
  const set = state.set[side], box = $(".pg-code");
  const length = Math.max(iterations, storyNow().iterations);
  box.hidden = false;
  box.dataset.side = side;
  box.querySelector("p").textContent = ui("python_about");
  const text = asPython(set, ROWS[set.algorithm], state.task, length);
  return (box.querySelector("pre").textContent = text);
}

async function copy(text, button) {
  let done = true;
  try { await navigator.clipboard.writeText(text); } catch { done = false; }
  tell(done ? "copied" : "not_copied", button);
}

// In the button itself, which keeps its width, for a while.
function tell(id, button) {
  button.style.minWidth = `${button.getBoundingClientRect().width}px`;
  button.ariaLive = "polite";
  button.dataset.does ??= button.textContent;
  button.textContent = ui(id);
  setTimeout(() => { button.textContent = button.dataset.does; }, 2500);
}

// The maps of both sides over the first large chart, with title and link, to the clipboard;
// where that is not allowed, as a file.
async function copyPicture(_, button) {
  const canvas = picture(), name = `${state.story}.png`;
  const blob = await new Promise((done) => canvas.toBlob(done));
  let how = "copied";
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
  } catch {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    how = "saved";
  }
  tell(how, button);
}

// A canvas that is on no page, with twice as many pixels.
const aside = (width, height) => Object.defineProperties(document.createElement("canvas"), {
  clientWidth: { value: width }, clientHeight: { value: height }, scale: { value: 2 },
});

function picture() {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  const level = levelNow(), [name] = storyNow().charts, num = sides().length;
  canvas.width = 1200;
  canvas.height = 900;
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, 1200, 900);
  pen.fillStyle = ink.ink;
  pen.font = `680 34px ${FONT}`;
  const own = root.matches(".pg-own") ? `: ${ownLine()}` : "";
  pen.fillText($(".pg-head h2").textContent + own, 40, 64, 1120);
  pen.font = `22px ${FONT}`;
  const wide = (1120 - 40 * (num - 1)) / num;
  const strokes = state.strokes.map((one) => `${calling(one.at)} → ${one.pay}`).join(" · ");
  sides().forEach((side, n) => {
    const x = 40 + n * (wide + 40), map = aside(wide / 2, 180), who = level ? strokes : side;
    pen.fillText([who, `${ui("iteration")} ${at}`].filter(Boolean).join(" · "), x, 112, wide);
    tree(side, map);
    pen.drawImage(map, x, 126, wide, 360);
  });
  const big = aside(560, 145);
  if (level) levelChart(big);
  else plot(name, big);
  const key = stretch() && ` · ${stretch()}`;
  pen.fillText(level ? ui("satisfied") : word("chart", name) + key, 40, 530, 1120);
  pen.drawImage(big, 40, 544, 1120, 290);
  pen.fillStyle = ink.muted;
  pen.font = `18px ${FONT}`;
  pen.fillText(location.href, 40, 876, 1120);
  return canvas;
}

// ---- listening ----

const CLICKS = {
  "[data-look]": ({ look: n }) => look(n),
  "[data-bet]": ({ bet: side }) => {
    bet = side;
    showBet();
    draw();
    $(".pg-play").focus({ preventScroll: true });
  },
  ".pg-back": () => { start(`#s=${state.story}`); $(".pg-play").focus(); },
  "[data-cell]": ({ cell }) => stroked(cell),
  "[data-stroke]": ({ stroke }) =>
    repaint(state.strokes.filter((_, n) => n !== Number(stroke))),
  "[data-story]": ({ story }) => start(`#s=${story}`),
  "[data-stage]": ({ stage }, button) => {
    open([stage], !isOpen(button));
    $(`#pg-stage-${stage} > .pg-differ`)?.scrollIntoView({ block: "nearest" });
  },
  "[data-even]": ({ even }) => turned(even, "B", state.set.A[even]),
  "[data-prompt]": ({ prompt }) => { state.prompt = Number(prompt); sync(); },
  ".pg-all": (_, button) => open(STAGES, !isOpen(button)),
  ".pg-reason .pg-close": () => { reason(false); $(".pg-why").focus({ preventScroll: true }); },
  ".pg-close": closeDials,
  ".pg-play": () => {
    if (playing) { stop(); return; }
    const anew = stale();
    if (over()) {
      restart();
      if (!anew) return;
    }
    play();
    if (isPhone()) watchRun();
  },
  ".pg-step": () => { advance(); (at === storyNow().iterations ? finish : stop)(); },
  ".pg-reset": () => (over() ? play : restart)(),
  ".pg-freeze": () => { freeze(); draw(); },
  ".pg-more": (_, button) => button.setAttribute("aria-expanded", !isOpen(button)),
  ".pg-why": (_, button) => {
    reason(!isOpen(button));
    const [why, verdict] = [".pg-reason", ".pg-bet"].map((css) => $(css).getBoundingClientRect());
    if (!isPhone()) $(".pg-reason").scrollIntoView({ block: "nearest" });
    else if (why.height && verdict.bottom > why.top) // the verdict stays in view under it
      scrollBy(0, Math.min(0, verdict.top - why.bottom - 12));
  },
  ".pg-link": (_, button) => copy(location.href, button),
  ".pg-picture": copyPicture,
  ".pg-python": ({ side }, button) => copy(code(side), button),
};

function clicked({ target }) {
  const button = target.closest("button");
  for (const [css, act] of Object.entries(CLICKS))
    if (button?.matches(css)) { act(button.dataset, button); return; }
}

function changed({ target }) {
  const { dial, side } = target.dataset;
  if (dial) turned(dial, side, chosen(target));
  else if (target.matches(".pg-scrub")) look(target.value);
  else if (target.matches(".pg-tales")) start(`#s=${target.value}`);
  else if (target.name === "pg-sides") draw();
  else if (target.name === "pg-brush") brush = Number(target.value);
  else if (target.id === "pg-task") { state.task = target.value; begin(); sync(); }
  else if (target.closest(".pg-axis")) { state.axis = target.value; sync(); }
  else if (target.closest(".pg-two")) {
    const ran = iterations;
    state.two = target.checked;
    begin();
    sync();
    if (ran) play(); // the runs are not empty now
  }
}

function chosen({ type, value, dataset: { dial, side } }) {
  if (type === "range") return steps(dial, side)[value];
  if (dial === "algorithm") return value;
  return DIALS[dial].values.find((one) => String(one) === value);
}

const isOpen = (button) => button.getAttribute("aria-expanded") === "true";

function open(stages, wanted) {
  const shut = $(".pg-drawer").hidden;
  for (const stage of stages) {
    $(`#pg-stage-${stage}`).hidden = !wanted;
    $(`[data-stage=${stage}]`).setAttribute("aria-expanded", wanted);
  }
  $(".pg-drawer").hidden = $$(".pg-stage").every((box) => box.hidden);
  const all = $$(".pg-stage").every((box) => !box.hidden);
  for (const button of $$(".pg-all")) button.setAttribute("aria-expanded", all);
  draw(); // the curves may have less room beside the dials
  if (!wanted || !shut) return;
  if (stages[1]) // what they turn stays in view: all curves of the story, if there is room
    $(`[data-chart=${storyNow().charts.at(-1)}]`)
      ?.scrollIntoView({ block: "nearest", behavior: "instant" });
  watchRun(true);
}

function closeDials() {
  const inside = $(".pg-drawer").contains(document.activeElement);
  const opener = $('[data-stage][aria-expanded="true"]');
  open(STAGES, false);
  if (inside) opener.focus();
}

// A curve shows the iteration that is clicked or drawn to; a finger may still scroll over it.
function scrubbed({ type, target, offsetX, buttons, movementX, movementY }) {
  const { place } = target, along = Math.abs(movementX) >= Math.abs(movementY);
  if (!place || !iterations || !(type === "click" || (buttons & 1 && along))) return;
  const x = ((offsetX - place.left) / place.W) * place.end, drawn = history.A.drawn[0];
  const after = drawn.findIndex((n) => n >= x);
  look(state.axis === "iterations" ? x : after < 0 ? iterations : after);
}

// Say which response the pointer is on.
function pointed({ target, offsetX: x, offsetY: y }) {
  const side = target.dataset?.icicle;
  if (!side) return;
  const leaf = leaves[side].find((one) => x >= one.x && y >= one.y && y < one.y + one.size);
  target.parentNode.querySelector(".pg-tip").textContent = leaf ? told(side, leaf) : "";
}

function pressed(event) {
  const cell = event.target.closest("[data-cell]"), pay = Number(event.key);
  if (event.key === "Escape") $(".pg-drawer").hidden ? reason(false) : closeDials();
  if (!cell) return;
  if (event.key.trim() && BRUSHES.includes(pay)) {
    brush = pay;
    showSheet();
  } else if (walked(cell, event.key)) event.preventDefault();
}

function recolour() {
  ink = colours();
  if (runs) draw();
}

function listen() {
  root.addEventListener("input", changed);
  root.addEventListener("click", clicked);
  root.addEventListener("pointermove", pointed);
  for (const on of ["click", "pointermove"]) root.addEventListener(on, scrubbed);
  addEventListener("resize", () => draw());
  root.addEventListener("keydown", pressed);
  document.addEventListener("click", ({ target }) => { // the stories told below
    const story = target.dataset?.playStory;
    if (!story) return;
    start(`#s=${story}`);
    root.scrollIntoView();
  });
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#s=")) start(location.hash);
    else document.getElementById(location.hash.slice(1))?.querySelector("details")?.setAttribute("open", "");
  });
  let width = root.clientWidth;
  new ResizeObserver(() => { // also when the book's contents step aside
    if (root.clientWidth !== width) draw();
    width = root.clientWidth;
  }).observe(root);
  document.addEventListener("visibilitychange", () => { before = performance.now(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  new MutationObserver(recolour)
    .observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const box of $$("[data-chart], [data-level], [data-icicle], [data-group]")) watch.observe(box);
}

// The book's contents are hidden where they would crowd the page; a button shows them again.
if (innerWidth > 992 && innerWidth < 1600)
  document.getElementById("pst-primary-sidebar")?.classList.add("pst-sidebar-hidden");
build();
$(".pg-speed select").value = "normal";
recolour();
listen();
start(location.hash);
