// The place where A and B part, and the reader's bet on it.
const BEYOND = 0.05; // of the chart's range: a smaller gap is none
let bet = null, apart = null; // a side or "same"; where the sides part, once played to the end

const rangeOf = (lines) => {
  const all = lines.flat(2).filter((x) => x === x);
  return Math.max(...all) - Math.min(...all);
};

// The longest stretch in which no seed of one side is among the other's, if there is one, the
// iteration at which the medians are furthest apart, and where to rest: at the end, unless the gap
// has closed by then. Iterations before `start` are left out.
function partingOf(history, name, start = 0) {
  const [A, B] = BOTH.map((side) => history[side][name]), range = rangeOf([A, B]);
  const length = Math.min(...[...A, ...B].map((line) => line.length));
  const gaps = Array(start).fill(-1);
  let since = start, from = start, to = start;
  for (let n = start; n < length; n++) {
    const [a, b] = [A, B].map((lines) => lines.map((line) => line[n]));
    gaps.push(Math.abs(common(a) - common(b)) || 0);
    const away = Math.min(...b) > Math.max(...a) || Math.min(...a) > Math.max(...b);
    if (!away || gaps[n] <= BEYOND * range) since = n + 1;
    else if (n - since > to - from) [from, to] = [since, n];
  }
  const stretch = to - from > 1 ? { from, to } : {};
  const most = Math.max(...gaps), widest = gaps.indexOf(most);
  const rest = gaps[length - 1] < most - BEYOND * range ? widest : length;
  return { ...stretch, widest, rest, end: length, start };
}

// Whose median is higher, as the mean of the run; "same" within the gap that is none.
function higherOf(history, name) {
  const lines = BOTH.map((side) => history[side][name]), range = rangeOf(lines);
  const [a, b] = lines.map((one) => {
    const medians = middleOf(one, null).ys.filter((x) => x === x);
    return medians.reduce((sum, x) => sum + x, 0) / medians.length;
  });
  const side = Math.abs(a - b) <= BEYOND * range ? "same" : a > b ? "A" : "B";
  return { side, a, b };
}

// The name of the line in the first curve.
const stretch = () => apart?.from === undefined ? ""
  : filled("apart", { ...apart, to: apart.to === apart.end - 1 ? apart.end : apart.to });

function parted() {
  const box = $(".pg-parted"), [name] = storyNow().charts;
  for (const figure of $$("[data-chart]"))
    figure.querySelector("small").textContent = figure.dataset.chart === name ? stretch() : "";
  if (!apart) { box.textContent = ""; return; }
  const { from, to, widest, end, start } = apart;
  const at = (n) => `<button data-look="${n}">${n}</button>`;
  const [a, b] = BOTH.map((side) => show(common(history[side][name].map((line) => line[widest]))));
  const since = start ? filled("since", { n: at(start) }) + gap : ""; // each with one setting
  const how = from === undefined ? "never_parted" : to === end - 1 ? "stay_apart" : "parted";
  const values = {
    chart: word("chart", name), from: at(from), to: at(to), widest: at(widest), end: at(end), a, b,
  };
  box.innerHTML = since + filled("furthest", values) + gap + filled(how, values);
}

// ---- the bet ----

// A bet needs an unchanged story with two sides.
const askable = () => state.two && !levelNow() && !isTurned(state, storyNow(), ROWS);

function bets() {
  try { return JSON.parse(localStorage.getItem("playground-bets")) ?? {}; } catch { return {}; }
}

// The first bet on a story counts.
function settleBet() {
  if (!bet || !askable()) return;
  const all = bets(), { side } = higherOf(history, storyNow().charts[0]);
  all[state.story] ??= side === bet;
  try { localStorage.setItem("playground-bets", JSON.stringify(all)); } catch { /* not kept */ }
}

const betName = (side) => (side === "same" ? ui("bet_same") : side);

// The question stays until the run has come to its end; a bet is placed, and changed, before
// it begins.
function showBet() {
  const box = $(".pg-bet"), chart = word("chart", storyNow().charts[0]);
  if (root.matches(".pg-own")) box.innerHTML = `<button class="pg-back">${ui("back")}</button>`;
  else if (!askable()) box.textContent = "";
  else if (!apart) {
    const off = iterations || playing ? " disabled" : "";
    const one = (side) =>
      `<button data-bet="${side}" aria-pressed="${side === bet}"${off}>${betName(side)}</button>`;
    const buttons = each([...BOTH, "same"], one);
    box.innerHTML = `<p>${filled("bet", { chart })}</p><div>${buttons}</div>`;
  } else {
    const { side, a, b } = higherOf(history, storyNow().charts[0]), all = Object.values(bets());
    const told = [filled("averaged", { chart, a: show(a), b: show(b) })];
    if (bet) {
      told.unshift(filled("bet_on", { bet: betName(bet) }),
        filled(side === bet ? "bet_right" : "bet_wrong", { side: betName(side) }));
      told.push(filled("bets", { right: all.filter(Boolean).length, all: all.length }));
    }
    box.textContent = told.join(gap);
  }
}
