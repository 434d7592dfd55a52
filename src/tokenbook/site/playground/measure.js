// Measurements of the stories: the same runs as in the page, without the page.
function measureStory(story, rows, tasks, seeds) {
  const tree = grow(tasks[story.task]), sides = settingsOf(story, rows), out = {};
  for (const side of ["A", "B"]) {
    const set = settingOf(sides[side], rows[story.algorithm]);
    const runs = Array.from({ length: seeds }, (_, n) => {
      const run = new Run(tree, set, n + 1), seen = [];
      const look = () => seen.push({
        ...run.seen, hard: run.seen.each[story.prompt ?? 0],
        clipped: run.clipped, dead: run.dead, cosine: run.cosine, drawn: run.drawn,
      });
      for (let i = 0; i < story.iterations; i++) {
        const drawn = run.drawn;
        run.step();
        look();
        seen[i].drawn = drawn;
      }
      run.exact();
      look();
      return seen;
    });
    out[side] = story.shows.map((what) => runs.map((seen) => measured(seen, what)));
  }
  return out;
}

// `seen` has one entry more than there were iterations: the policy at the end.
function measured(seen, { chart, at, until, in: unit }) {
  const last = seen.length - 1;
  const mean = (n) => {
    const values = seen.slice(0, n).map((one) => one[chart]).filter((x) => x === x);
    return values.reduce((sum, x) => sum + x, 0) / values.length;
  };
  if (until !== undefined) {
    const i = seen.findIndex((one) => one[chart] > until);
    return i < 0 ? null : unit === "samples" ? seen[i].drawn : i;
  }
  if (at === "mean") return mean(last);
  if (at === "first20") return mean(20);
  return seen[at === "end" ? last : at][chart];
}

// A painted checker, measured: how its runs end, and people and checker every so often.
function measurePainted(level, { paint, set = {} }, rows, tasks, seeds, every) {
  const row = rows[level.algorithm], own = settingsOf({ ...level, A: set }, rows).A;
  const strokes = strokesOf(paint, tasks[level.task]);
  const tree = painted(grow(tasks[level.task]), strokes), top = highest(tree);
  const runs = Array.from({ length: seeds }, (_, n) => new Run(tree, settingOf(own, row), n + 1));
  const people = [], checker = [];
  for (let n = 0; n <= level.iterations; n++) {
    for (const run of runs) n ? run.step() : 0;
    const seen = runs.map((run) => run.exact());
    people.push(seen.map(({ success }) => success));
    checker.push(seen.map(({ reward }) => reward / top));
  }
  const some = (all) => all.filter((_, n) => n % every === 0);
  return { ...verdict(people, checker), people: some(people), checker: some(checker) };
}
