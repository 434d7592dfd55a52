// “Paint the checker”: the sheet with every response, the brushes, and the satisfaction of people
// and checker.
const levelNow = () => (storyNow().level ? storyNow() : undefined);
const WHO = ["people", "checker"];
let brush = 1, paper; // reward of a stroke; the tree of the level, before any stroke

const sheetBox = () => `<section class="pg-paint">
  <h3>${ui("paint")}</h3><p class="pg-cap">${ui("paint_about")}</p>
  <div class="pg-tools">
    <fieldset class="pg-brushes"><legend>${ui("pays")}</legend>${each(BRUSHES, (pay) =>
      `<label><input type="radio" name="pg-brush" value="${pay}"${
        pay === brush ? " checked" : ""}><span>${pay}</span></label>`)}
      <p class="pg-full" role="status"></p></fieldset>
    <ol class="pg-strokes" aria-label="${ui("strokes")}"></ol>
  </div>
  <div class="pg-sheet" role="group" aria-label="${ui("paint")}"></div></section>`;

const satisfiedBox = () => `<section class="pg-satisfied">
  <p class="pg-verdict" role="status"></p>
  <div class="pg-meters">${each(WHO, (who) =>
    `<p class="pg-meter pg-${who}"><span>${ui(who)}</span><i></i><output></output></p>`)}</div>
  <figure class="pg-curve" data-level><figcaption>${ui("satisfied")}</figcaption>
    <canvas role="img"></canvas></figure></section>`;

// The name of a beginning, and every response that has it.
const calling = (at) => [...at].map((letter) => word("say", letter)).join(" ");

// A block for each first word: it stands on top, under it what follows, from left to right.
function spreadSheet() {
  const { child, prefixes, words, V, T } = paper, cells = [];
  let row = 1, block = -T; // with a column that stays free
  const walk = (s) => {
    for (let a = 0; a < V; a++) {
      const k = s * V + a, next = child[k], at = prefixes[s] + words[a], first = !s;
      if (next === NO_WORD) continue;
      if (first) [row, block] = [1, block + T];
      const cell = { at, leaf: next === CLOSED }, top = row, left = block + at.length - !first;
      cells.push(cell);
      if (first || cell.leaf) row++;
      if (!cell.leaf) walk(next);
      cell.place = `grid-area:${top}/${left}/${first ? 2 : row}/${first || cell.leaf ? block + T : left + 1}`;
    }
  };
  walk(0);
  const columns = `${"2fr ".repeat(T - 2)}3fr`;
  $(".pg-sheet").style.gridTemplateColumns = `repeat(${V - 1}, ${columns} .4rem) ${columns}`;
  $(".pg-sheet").innerHTML = each(cells, ({ at, leaf, place }) => `<button data-cell="${at}"
    class="${leaf ? "pg-leaf" : ""}" style="${place}" tabindex="-1"><span>${
    word("say", at.at(-1))}</span>${leaf ? "<i></i><b></b>" : ""}</button>`);
  $(".pg-sheet button").tabIndex = 0;
}

// The leaves of a beginning: their rewards, and whether people want them.
function leavesOf(tree, at) {
  const found = [], earns = earned(tree, 0);
  for (let k = 0; k < tree.child.length; k++)
    if (tree.child[k] === CLOSED && begins(textOf(tree, k), { at }))
      found.push({ pay: tree.paid[0][k], kind: kindOf(tree, 0, k, earns) });
  return found;
}

function showSheet() {
  root.classList.toggle("pg-level", Boolean(levelNow()));
  if (!levelNow()) return;
  const tree = runs.A[0].tree;
  if ($(".pg-sheet").dataset.sheet !== state.story) {
    $(".pg-sheet").dataset.sheet = state.story;
    paper = trees[state.task];
    brush = highest(paper) ? 0 : 1; // holes are closed, a blank sheet is paid
    spreadSheet();
  }
  for (const cell of $$("[data-cell]")) {
    const { cell: at } = cell.dataset, own = leavesOf(tree, at), { pay, kind } = own[0];
    const right = kind === "up";
    if (cell.matches(".pg-leaf")) {
      cell.dataset.pay = pay;
      cell.dataset.kind = kind;
      cell.querySelector("b").textContent = pay;
      cell.querySelector("i").textContent = right ? "♥" : "";
      cell.ariaLabel = `${calling(at)}: ${ui("pays")} ${pay}${right ? `, ${ui("wanted")}` : ""}`;
    } else cell.ariaLabel = `${calling(at)} …: ${own.length} ${ui("responses")}`;
  }
  $(".pg-strokes").innerHTML = each([...Array(STROKES).keys()], (n) => {
    const stroke = state.strokes[n];
    if (!stroke) return `<li class="pg-free"></li>`;
    const text = `${calling(stroke.at)} → ${stroke.pay}`;
    const covered = state.strokes.slice(n + 1).some((later) => begins(stroke.at, later));
    return `<li><button data-stroke="${n}"${covered ? ` class="pg-covered" title="${ui("covered")}"` : ""} aria-label="${
      ui("take_back")}: ${text}${covered ? `, ${ui("covered")}` : ""}">${text} ×</button></li>`;
  });
  $(".pg-full").textContent = state.strokes.length < STROKES ? "" : ui("no_stroke");
  $(`[name="pg-brush"][value="${brush}"]`).checked = true;
}

// A stroke on a beginning, unless it would change nothing.
function stroked(at) {
  if (state.strokes.length === STROKES) {
    $(".pg-full").scrollIntoView({ block: "nearest" });
    return;
  }
  if (leavesOf(runs.A[0].tree, at).every(({ pay }) => pay === brush)) return;
  repaint([...state.strokes, { at, pay: brush }]);
}

function repaint(strokes) {
  const here = document.activeElement?.dataset.stroke;
  state.strokes = strokes;
  if (playing) stop();
  note("");
  begin();
  sync();
  if (here) ($("[data-stroke]") ?? $(".pg-sheet [tabindex='0']")).focus();
}

// From cell to cell: to the nearest that lies that way in the same row or column.
function walked(cell, key) {
  const side = { ArrowUp: "top", ArrowDown: "bottom", ArrowLeft: "left", ArrowRight: "right" }[key];
  const from = cell.getBoundingClientRect(), cells = $$("[data-cell]");
  const gaps = cells.map((one) => {
    const to = one.getBoundingClientRect();
    const column = to.left < from.right && to.right > from.left;
    const row = to.top < from.bottom && to.bottom > from.top;
    const gap = {
      top: column && from.top - to.bottom, bottom: column && to.top - from.bottom,
      left: row && from.left - to.right, right: row && to.left - from.right,
    }[side];
    return gap > 0 ? gap : Infinity;
  });
  const least = Math.min(...gaps), next = cells[gaps.indexOf(least)];
  if (least === Infinity) return false;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return true;
}

// The satisfied so far: a list of the seeds for each iteration.
function satisfied() {
  const each = (name, by) => Array.from({ length: iterations || 1 }, (_, n) =>
    linesOf("A", name).map((line) => (line[n] ?? NaN) / by));
  return { people: each("success", 1), checker: each("reward", highest(runs.A[0].tree)) };
}

function meters() {
  const { people, checker } = satisfied(), n = Math.min(at, people.length - 1);
  const now = { people: median(people[n]), checker: median(checker[n]) };
  for (const who of WHO) {
    $(`.pg-${who} output`).textContent = show(now[who]);
    $(`.pg-${who} i`).style.setProperty("--p", now[who] || 0);
  }
  $("[data-level] canvas").ariaLabel = `${ui("satisfied")}: ${
    WHO.map((who) => `${ui(who)} ${show(now[who])}`).join(", ")}`;
}

// The verdict, once the level has been played.
function judge() {
  const { people, checker } = satisfied(), box = $(".pg-verdict");
  const over = iterations >= levelNow().iterations;
  if (!over) { box.textContent = ui("aim"); box.dataset.how = ""; return; }
  const { how, n } = verdict(people, checker);
  box.dataset.how = how;
  box.textContent = ui(`ends_${how}`).replace("{n}", n);
  const next = LEVELS[LEVELS.indexOf(levelNow()) + 1];
  if (how === "survives" && next)
    box.insertAdjacentHTML("beforeend", ` <button data-story="${next.id}">${ui("next_level")}</button>`);
}

function levelChart(canvas = $("[data-level] canvas")) {
  const turned = (all) =>
    runs.A.map((_, seed) => all.map((each) => each[seed]));
  const both = satisfied(), lines = WHO.map((who) => ({
    name: who, text: ui(who), lines: turned(both[who]), at: null,
  }));
  const end = Math.max(levelNow().iterations, iterations);
  const more = { of: ui("iteration"), marks, look: looked(), empty: !iterations && ui("press") };
  curves(canvas, lines, { min: 0, max: 1, end, ...more }, ink);
}
