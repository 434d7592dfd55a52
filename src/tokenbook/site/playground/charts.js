// Pictures on canvas: curves of both sides, every response as an icicle, a histogram.
// Colours are those of the page; A is grey and dashed with a hollow end, B is ink and thick.
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const LINES = {
  A: { colour: "muted", width: 2.5, thin: 0.3, dash: [7, 4] },
  B: { colour: "ink", width: 3, thin: 0.2, dash: [] },
  people: { colour: "up", width: 3, thin: 0.25, dash: [] },
  checker: { colour: "ink", width: 2.5, thin: 0.15, dash: [7, 4] },
};

function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "old", "up", "down", "alt", "mark", "paper", "muted", "line", "wash"];
  const value = (name) => style.getPropertyValue(`--tc-${name}`).trim();
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}

// A canvas as large as its box, cleared.
function surface(canvas) {
  const { clientWidth: w, clientHeight: h } = canvas;
  const scale = canvas.scale ?? Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, w, h);
  canvas.place = null;
  return { pen, w, h };
}

// The same where at least half of them have a value.
const common = (values) =>
  2 * values.filter((x) => x === x).length >= values.length ? median(values) : NaN;

const show = (x) => (x !== x ? "–"
  : x.toFixed(Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 9.95 ? 1 : 2).replace("-", "−"));

// A round number at or above x.
function nice(x) {
  const unit = 10 ** Math.floor(Math.log10(x));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((k) => k * unit >= x * 0.999) * unit;
}

// Curves. sides: [{name, lines, at, text}], at[i] being the places of line i on the x axis and text
// the name of the line. `look` is the iteration whose values are printed, `from` the one from which
// on the sides are apart, `of` the unit of the x axis, and `empty` the text before the first run.
// The canvas keeps the `place` of its plot. What is drawn leaves room for words on its right.
function curves(canvas, sides, { min = 0, max, least = 0, of = "", end, marks, look, from, empty }, ink) {
  const { pen, w, h } = surface(canvas);
  if (!w) return;
  pen.font = `600 12px ${FONT}`;
  const words = sides.map(({ name, text = name }) => pen.measureText(`${text} −0.00`).width);
  const drawn = Math.max(0, ...sides.flatMap(({ lines, at }) => // nothing is, right of it
    lines.map((line, i) => at?.[i][line.length - 1] ?? line.length - 1)));
  const left = 34, top = 8, bottom = 18, room = w - left - 12;
  const W = Math.min(room, ((room - Math.max(...words)) * end) / drawn), H = h - top - bottom;
  canvas.place = { left, W, end };
  let high = max ?? least;
  if (max === undefined)
    for (const y of sides.flatMap(({ lines }) => lines).flat()) if (y > high) high = y;
  high = max ?? nice(high || 1);
  const X = (x) => left + (W * x) / end, inside = (y) => Math.min(high, Math.max(min, y));
  const Y = (y) => top + H * (1 - (inside(y) - min) / (high - min));

  pen.font = `11px ${FONT}`;
  pen.fillStyle = ink.muted;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const levels = [min, (min + high) / 2, high].map((y) => [y, Math.round(Y(y)) + 0.5]);
  const grid = (x) => {
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    for (const [, at] of levels) stroke(pen, [[x, at], [left + W, at]]);
  };
  grid(left);
  for (const [y, at] of levels)
    pen.fillText(String(+y.toPrecision(2)).replace("-", "−"), left - 6, at);
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  pen.fillText("0", left, h - 4);
  pen.textAlign = "right";
  const last = `${W > 150 ? of : ""} ${end.toLocaleString("en").replace(/,/g, "\u202f")}`.trim();
  pen.fillText(last, left + W, h - 4);
  pen.setLineDash([2, 3]);
  for (const mark of marks) stroke(pen, [[X(mark), top], [X(mark), top + H]]);
  pen.setLineDash([]);
  if (from !== undefined) {
    pen.strokeStyle = ink.mark;
    pen.lineWidth = 2;
    stroke(pen, [[X(from), top], [X(from), top + H]]);
    pen.textAlign = "center";
    const near = X(from) + 30 > left + W - pen.measureText(last).width;
    if (X(from) > left + 20 && !near) pen.fillText(from, X(from), h - 4);
  }

  const ends = [], far = X(drawn);
  for (const { name, lines, at, text = name } of sides) {
    const style = LINES[name], stride = Math.max(1, Math.floor((1.2 * lines[0].length) / W));
    const draw = (ys, xs) => {
      let down = false;
      pen.beginPath();
      for (let i = 0; i < ys.length; i += stride) {
        const k = i + stride < ys.length ? i : ys.length - 1; // the last one is drawn
        if (ys[k] !== ys[k]) { down = false; continue; }
        pen[down ? "lineTo" : "moveTo"](X(xs ? xs[k] : k), Y(ys[k]));
        down = true;
      }
      pen.stroke();
    };
    pen.lineJoin = "round";
    pen.setLineDash(style.dash.map((x) => x / 2));
    pen.strokeStyle = pen.fillStyle = ink[style.colour];
    pen.lineWidth = 1;
    pen.globalAlpha = style.thin;
    lines.forEach((line, i) => draw(line, at && at[i]));
    pen.globalAlpha = 1;
    pen.lineWidth = style.width;
    pen.setLineDash(style.dash);
    const { xs, ys } = middleOf(lines, at);
    draw(ys, xs);
    pen.setLineDash([]);
    let k = Math.min(look ?? Infinity, ...lines.map((line) => line.length - 1));
    const value = () => common(lines.map((line) => line[k]));
    while (k >= 0 && value() !== value()) k--;
    if (k < 0) continue;
    const x = X(at ? median(at.map((places) => places[k])) : k);
    const dots = lines.map((line) => Y(line[k]));
    ends.push({ name, text: `${text} ${show(value())}`, x, y: Y(value()), dots });
  }
  if (look !== undefined && ends.length) {
    const x = Math.max(...ends.map((end) => end.x)); // later values are pale
    pen.globalAlpha = 0.7;
    pen.fillStyle = ink.paper;
    pen.fillRect(x, 0, w - x, top + H + 4);
    pen.globalAlpha = 1;
    grid(x);
    pen.strokeStyle = ink.ink;
    for (const end of ends) stroke(pen, [[end.x, top], [end.x, top + H]]);
  }
  pen.lineWidth = 1;
  for (const { name, x, dots } of ends) { // a dot for each seed
    const { colour, dash } = LINES[name];
    pen.strokeStyle = pen.fillStyle = ink[colour];
    for (const y of dots) {
      pen.beginPath();
      pen.arc(x, y, 2, 0, 7);
      pen[dash.length ? "stroke" : "fill"]();
    }
  }
  label(pen, ends, { low: top + 7, high: top + H - 7, far }, ink);
  if (!empty) return;
  pen.fillStyle = ink.muted; // in the half without a value
  pen.textAlign = "center";
  pen.font = `13px ${FONT}`;
  pen.fillText(empty, left + W / 2, top + H * (ends[0]?.y < top + H / 2 ? 0.8 : 0.2));
}

// Where the lines end or are looked at a dot (A's is hollow); the name and the value stand
// right of all that is drawn, and a dotted line leads there.
function label(pen, ends, { low, high, far }, ink) {
  const [one, two] = ends, close = two && Math.abs(two.y - one.y) < 14;
  const middle = two && Math.min(high - 7, Math.max(low + 7, (one.y + two.y) / 2));
  const first = close && two.y < one.y - 0.5 ? 1 : 0; // which of two close ones stands above
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.font = `600 12px ${FONT}`;
  const place = (y, n) =>
    close ? middle + (n === first ? -7 : 7) : Math.min(high, Math.max(low, y));
  ends.forEach((end, n) => {
    const { name, x, y, text } = end, hollow = name === "A", colour = ink[LINES[name].colour];
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour;
    pen.setLineDash([1, 3]);
    if (far - x > 12) stroke(pen, [[x, y], [far + 5, place(y, n)]]);
    pen.setLineDash([]);
    pen.fillStyle = hollow ? ink.paper : colour;
    pen.beginPath();
    pen.arc(x, y, 3.5, 0, 7);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colour;
    pen.fillText(text, far + 8, place(y, n));
  });
}

function stroke(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

// The median of the lines: update by update, or along the x axis where each line has
// its own places on it.
function middleOf(lines, at) {
  const length = Math.min(...lines.map((line) => line.length));
  if (!at) return { ys: Array.from({ length }, (_, i) => common(lines.map((line) => line[i]))) };
  const end = Math.min(...at.map((xs) => xs[xs.length - 1] ?? 0)), num = Math.min(length, 120);
  const feet = lines.map(() => 0), xs = [], ys = [];
  for (let k = 0; k < num; k++) {
    const x = num > 1 ? (end * k) / (num - 1) : 0;
    xs.push(x);
    ys.push(common(lines.map((line, i) => {
      while (feet[i] + 1 < line.length && at[i][feet[i] + 1] <= x) feet[i]++;
      return line[feet[i]];
    })));
  }
  return { xs, ys };
}

// The kind of a response by the reward of a right one: right; paid less; paid as much, but wrong;
// or nothing.
const earned = ({ right, paid }, q) => Math.max(0, ...paid[q].filter((_, k) => right[q][k]));
function kindOf({ right, paid }, q, k, earns) {
  if (right[q][k]) return "up";
  if (!(paid[q][k] > 0)) return "line";
  return paid[q][k] < earns ? "alt" : "down";
}

// Every response to prompt q: a column for each word, heights are probabilities.
// Returns the leaves, for whoever points at one.
function icicle(canvas, { tree, now }, q, word, ink) {
  const { pen, w, h } = surface(canvas), { V, S, T, child } = tree;
  const column = w / T, leaves = [], earns = earned(tree, q);
  const box = (text, x, y, width, height, fill, colour) => {
    pen.fillStyle = fill;
    pen.fillRect(x, y, width, Math.max(height - (height > 3 ? 1 : 0), 0.3));
    if (height < 12 || column < 13) return;
    const spare = width - 1 - pen.measureText(text).width; // a word is shown whole or not at all
    if (spare < 0) return;
    pen.fillStyle = colour;
    pen.fillText(text, x + Math.min(5, spare / 2), y + height / 2);
  };
  const walk = (s, depth, top, height) => {
    const x = depth * column;
    for (let a = 0, y = top; a < V; a++) {
      const k = s * V + a, next = child[k];
      if (next === NO_WORD) continue;
      const size = height * now.p[(q * S + s) * V + a], text = word(tree.words[a]);
      if (size > 0.3 && next === CLOSED) {
        const fill = ink[kindOf(tree, q, k, earns)];
        box(text, x, y, w - x - 1, size, fill, fill === ink.line ? ink.ink : ink.paper);
        leaves.push({ x, y, size, s, a, chance: size / h });
      } else if (size > 0.3) {
        box(text, x, y, column - 1, size, ink.wash, ink.ink);
        walk(next, depth + 1, y, size);
      }
      y += size;
    }
  };
  pen.font = `12px ${FONT}`;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  walk(0, 0, 0, h);
  return leaves;
}

// Cosines of many batches, A above B.
function histogram(canvas, sides, ink) {
  const { pen, w, h } = surface(canvas), left = 12, W = w - 2 * left, bins = 40;
  const H = (h - 22) / 2 - 6, wide = W / bins;
  const X = (x) => left + (W * (x + 1)) / 2;
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "alphabetic";
  pen.fillStyle = ink.muted;
  pen.lineWidth = 1;
  pen.lineJoin = "round"; // as the curves leave it
  for (const x of [-1, 0, 1]) {
    pen.textAlign = ["left", "center", "right"][x + 1];
    pen.fillText(String(x).replace("-", "−"), X(x), h - 4);
  }
  pen.textAlign = "left";
  pen.font = `600 12px ${FONT}`;
  sides.forEach(({ name, values }, n) => {
    const counts = new Array(bins).fill(0), floor = 6 + (n + 1) * H + n * 6;
    for (const x of values)
      if (x === x) counts[Math.min(bins - 1, Math.floor(((x + 1) / 2) * bins))]++;
    const tall = (0.85 * H) / Math.max(...counts, 1);
    pen.strokeStyle = pen.fillStyle = ink[LINES[name].colour];
    counts.forEach((count, i) => {
      const draw = name === "A" ? "strokeRect" : "fillRect"; // hollow, as A's dot
      if (count) pen[draw](left + i * wide + 0.5, floor - count * tall, wide - 1, count * tall);
    });
    pen.strokeStyle = ink.line;
    stroke(pen, [[left, floor + 0.5], [left + W, floor + 0.5]]);
    pen.fillStyle = name === "A" ? ink.muted : ink.ink;
    pen.fillText(`${name} ${show(median(values))}`, left, floor - H + 12);
  });
}
