// The address of a setting, so that it can be sent: #s=STORY&A.lr=5&B.kl_coef=0.3&two=0;
// and of a checker: #s=LEVEL&paint=c1.cc72.

// The story, then only the differences from it.
function writeHash(state, story, rows) {
  const parts = [`s=${state.story}`], told = settingsOf(story, rows);
  if (state.task !== story.task) parts.push(`task=${state.task}`);
  for (const side of ["A", "B"])
    for (const [name, value] of Object.entries(state.set[side]))
      if (value !== told[side][name])
        parts.push(`${side}.${name}=${encodeURIComponent(value)}`);
  if (state.strokes.length) parts.push(`paint=${strokesText(state.strokes)}`);
  if (!state.two && !story.level) parts.push("two=0");
  if (state.axis !== (story.axis ?? "iterations")) parts.push(`x=${state.axis}`);
  return "#" + parts.join("&");
}

// Whether more than the axis, the number of sides or the strokes differs from the story.
const isTurned = (state, story, rows) =>
  writeHash({ ...state, axis: story.axis ?? "iterations", two: true, strokes: [] }, story, rows)
    !== `#s=${story.id}`;

// The state that an address names. Unknown and forbidden values stay those of the story, and are
// named in `wrong`.
function readHash(hash, stories, rows, tasks) {
  const asked = hash.replace(/^#/, "").split("&").filter(Boolean)
    .map((one) => one.split("=").map(plain));
  const wrong = [];
  let story = stories[0];
  if (asked.length && (asked[0].length === 1 || asked[0][0] === "s")) {
    const id = asked.shift().at(-1), found = stories.find((one) => one.id === id);
    if (found) story = found;
    else wrong.push(id);
  }
  const set = settingsOf(story, rows), axis = story.axis ?? "iterations";
  const state = { story: story.id, task: story.task, two: !story.level, axis, set, strokes: [] };
  asked.sort(([one], [two]) => depth(one) - depth(two));
  for (const [name, text] of asked) {
    const [, side, dial] = /^([AB])\.(.+)$/.exec(name) ?? [];
    const value = side && parse(dial, text, rows, set[side].algorithm);
    if (value !== undefined) turn(set[side], dial, value, rows);
    else if (name === "paint" && story.level && strokesOf(text ?? "", tasks[story.task]))
      state.strokes = strokesOf(text, tasks[story.task]);
    else if (story.level && !side) wrong.push(`${name}=${text ?? ""}`);
    else if (name === "task" && Object.hasOwn(tasks, text)) state.task = text;
    else if (name === "two" && ["0", "1"].includes(text)) state.two = text === "1";
    else if (name === "x" && ["iterations", "samples"].includes(text)) state.axis = text;
    else wrong.push(`${name}=${text ?? ""}`);
  }
  return { state, wrong };
}

// An algorithm is turned first, then its parts, then their dials.
const depth = (name) => (name.endsWith(".algorithm") ? 0 : name.split(".").length);

function plain(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}

// A value of a dial from text: one of its own, or a number between its ends.
function parse(name, text, rows, algorithm) {
  if (name === "algorithm") return Object.hasOwn(rows, text) ? text : undefined;
  if (!Object.hasOwn(DIALS, name) || text === undefined) return undefined;
  const { values, choice } = DIALS[name], own = dialsOfRow(rows[algorithm])[name];
  const known = [...values, own].find((value) => String(value) === text);
  if (known !== undefined || choice || !/^-?[\d.]+(e-?\d+)?$/i.test(text)) return known;
  const numbers = values.filter((one) => typeof one === "number"), value = Number(text);
  const inside = value >= Math.min(...numbers) && value <= Math.max(...numbers);
  return inside && (!COUNTS.includes(name) || Number.isInteger(value)) ? value : undefined;
}
