// What the tests of the playground ask its simulation.
const list = (x) => Array.from(x);

// The stages on some of the batches (GIVEN): derivatives and advantages.
function stagesOn(row, from, to) {
  return GIVEN.slice(from, to).map((given) => {
    const size = given.B * given.T, numbers = (n) => new Float64Array(n);
    const b = {
      ...given, slope: numbers(size), bonus: numbers(size), advantages: numbers(size),
      returns: numbers(size), ratio: numbers(size), shut: numbers(size),
      scores: numbers(given.B), kept: numbers(given.B), rewards: given.rewards.slice(),
    };
    b.tokens = Array.from({ length: b.B }, (_, i) =>
      Array.from({ length: b.T }, (_, t) => i * b.T + t).filter((j) => given.mask[j]));
    assignCredit(row, b);
    weigh(row, b, Array.from({ length: b.B }, (_, i) => i), given.max_length);
    return { slope: list(b.slope), bonus: list(b.bonus), advantages: list(b.advantages) };
  });
}

// A run, and every optimizer step of its last rounds as the trainer saw it.
function steps(set, task, rounds, seed) {
  const run = new Run(grow(task), set, seed), seen = [];
  const { chain, descend, refresh, sample } = run, start = list(run.theta);
  let now, sampled, before; // parameters: of the sampler, and as the round began
  run.refresh = function () {
    refresh.call(this);
    sampled = list(this.theta);
  };
  run.sample = function () {
    before = list(this.theta);
    sample.call(this);
  };
  run.chain = function (live) {
    chain.call(this, live);
    const b = this.batch, of = (name) => live.map((j) => b[name][j]);
    now = {
      theta: list(this.theta), gradient: list(this.gradient), norm: this.norm,
      at: live.map((j) => [(j / b.T) | 0, j % b.T]), state: of("state"), token: of("token"),
      old: of("old"), ref: of("ref"), sampler: of("sampler"), values: of("values"), rewards: of("rewards"),
      advantages: of("advantages"), returns: of("returns"), ends: of("ends"),
      B: b.B, T: b.T, sampled, before, said: Array.from({ length: b.B }, (_, i) => [
        b.prompt[i], b.paid[i],
        list(b.token.subarray(i * b.T, i * b.T + b.length[i])).map((a) => this.tree.words[a]).join(""),
      ]),
    };
  };
  run.descend = function () {
    descend.call(this);
    seen.push({ ...now, after: list(this.theta) });
  };
  for (let i = 0; i < rounds; i++) run.step();
  return { seen, start, N: run.N, feature: list(run.feature), scale: run.criticScale };
}

// A policy with these logits, measured exactly; and how often it says what.
function measureAt(set, task, noise, draws) {
  const tree = grow(task), run = new Run(tree, set, 3);
  for (let x = 0; x < run.feature.length; x++)
    for (let a = 0; a < tree.V; a++)
      if (!tree.world[x % tree.S] && tree.child[(x % tree.S) * tree.V + a] !== NO_WORD)
        run.theta[run.feature[x] * tree.V + a] += noise * normal(run.random);
  run.softmax(run.now);
  run.refresh();
  const seen = run.exact(), said = {};
  for (let i = 0; i < draws; i++) {
    run.say(0, i % tree.P, 0);
    const b = run.batch, text = list(b.token.subarray(0, b.length[0])).map((a) => tree.words[a]).join("");
    said[i % tree.P] ??= {};
    said[i % tree.P][text] = (said[i % tree.P][text] ?? 0) + 1;
  }
  return { seen, said, theta: list(run.theta.subarray(0, run.N)), gradient: list(run.exactGradient), feature: list(run.feature) };
}

// What response i of the batch says, told by the states it went through as well.
function saidBy({ batch: b, tree }, i) {
  const places = Array.from({ length: b.length[i] }, (_, t) => i * b.T + t);
  const own = b.tokens[i].map((j) => j - i * b.T).join();
  return [...places.map((j) => tree.words[b.token[j]] + b.state[j]), own].join(" ");
}

// How many responses some rounds drew for the batch, and how many were learned from.
function learned(set, task, rounds) {
  const run = new Run(grow(task), set, 3), update = run.update;
  const seen = { drawn: 0, from: 0 };
  run.update = function (rows) {
    seen.drawn += rows.length;
    seen.from += rows.filter((i) => this.batch.kept[i]).length;
    return update.call(this, rows);
  };
  for (let i = 0; i < rounds; i++) run.step();
  return seen;
}

// The cosines of fresh batches, after some iterations of a row whose loss is PPO's clip.
function cosines(set, task, rounds, times) {
  const run = new Run(grow(task), set, 3);
  const plain = { ...set, row: { ...set.row, loss: { f: "ppo_clip_loss" } } };
  run.turn(plain);
  for (let i = 0; i < rounds; i++) run.step();
  run.turn(set);
  return run.resample(times);
}

// The colour of every box of the icicle: `leaves` by response, `inner` of the others.
function icicleOf(set, task, q) {
  globalThis.devicePixelRatio = 1;
  const run = new Run(grow(task), set, 3), boxes = [];
  const pen = {
    setTransform() {}, clearRect() {}, fillText() {}, measureText: () => ({ width: 0 }),
    fillRect() { boxes.push(this.fillStyle); },
  };
  const canvas = { clientWidth: 1e3, clientHeight: 1e9, getContext: () => pen };
  const names = ["ink", "up", "alt", "down", "paper", "line", "wash"];
  const ink = Object.fromEntries(names.map((name) => [name, name]));
  const { prefixes, words } = run.tree, found = { leaves: {}, inner: [] };
  const last = icicle(canvas, run, q, (x) => x, ink);
  const said = last.map(({ s, a }) => [...prefixes[s], words[a]].join(""));
  const ends = boxes.filter((one) => one !== "wash"); // a leaf is drawn as it is found
  said.forEach((text, n) => (found.leaves[text] = ends[n]));
  found.inner = boxes.filter((one) => one === "wash");
  return found;
}

// The lines of the last group as they are drawn: look and words of the score.
function groupOf(set, task) {
  const lines = [];
  for (let seed = 1; seed < 9; seed++) {
    const run = new Run(grow(task), set, seed);
    run.step();
    if (run.batch.prompt[0]) continue;
    const drawn = group(run, 0).match(/pg-score (\w+)">([^<]*)</g), b = run.batch;
    drawn.forEach((one, i) => {
      const [, look, text] = one.match(/pg-score (\w+)">([^<]*)</);
      const said = list(b.token.subarray(i * b.T, i * b.T + b.length[i]));
      lines.push({ look, text, said: said.map((a) => run.tree.words[a]).join("") });
    });
  }
  return lines;
}

// One round of sampling, with every response that was drawn, kept or not.
function drawn(set, task, seed) {
  const run = new Run(grow(task), set, seed), all = [], say = run.say;
  run.refresh();
  run.say = function (i, q, group) {
    say.call(this, i, q, group);
    all.push({ prompt: q, group, paid: this.batch.paid[i], said: saidBy(run, i) });
  };
  run.sample();
  const b = run.batch;
  const rows = Array.from({ length: b.B }, (_, i) => ({ said: saidBy(run, i) }));
  return { all, rows, kept: list(b.paid.subarray(0, b.B)), groups: list(b.groups.subarray(0, b.B)), drawn: run.drawn, dead: run.dead };
}

// The exact reward of some runs after some iterations.
function rewards(set, task, iterations, seeds) {
  return Array.from({ length: seeds }, (_, n) => {
    const run = new Run(grow(task), set, n + 1);
    for (let i = 0; i < iterations; i++) run.step();
    return run.exact().reward;
  });
}

const dialIds = () => ({
  dials: Object.keys(DIALS), stages: STAGES, sharing: Object.keys(SHARING),
  choices: Object.values(DIALS).filter((dial) => dial.choice).flatMap((dial) => dial.values),
});

// What a painted checker pays for each response, in the order of the sheet.
function paidBy(task, text) {
  const tree = painted(grow(task), strokesOf(text, task)), found = [];
  const walk = (s) => tree.words.split("").forEach((_, a) => {
    const k = s * tree.V + a;
    if (tree.child[k] === CLOSED) found.push([textOf(tree, k), tree.paid[0][k]]);
    else walk(tree.child[k]);
  });
  walk(0);
  return found;
}

const judged = (...both) =>
  verdict(...both.map((each) => each.map((all) => all.map((x) => x ?? NaN))));
