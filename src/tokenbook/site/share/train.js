const hasCritic = () => false; // of no algorithm: the credit is given

// Eight updates from one response, by the playground's simulation. The tree is a chain: at
// every step the word that the response has, or anything else, which ends the chain and
// is worth what the measured values leave for it.
function chainOf({ odds, values, score }) {
  const T = odds.length, ends = [...values, score], child = [], start = [], right = [];
  odds.forEach((odd, t) => {
    const p = 1 / (1 + Math.exp(-odd)), last = t === T - 1;
    const other = p < 1 ? (ends[t] - p * ends[t + 1]) / (1 - p) : 0;
    child.push(last ? CLOSED : t + 1, CLOSED);
    start.push(odd, 0);
    right.push(last ? score : 0, Math.min(1, Math.max(0, other)));
  });
  const worth = [Float64Array.from(right)];
  return {
    V: 2, S: T, P: 1, T, words: ["as written", "else"], prefixes: child.map(String),
    child: Int32Array.from(child), start: Float64Array.from(start),
    world: new Uint8Array(T), paid: worth, right: worth,
  };
}

// The success rate before each update and after the last; the credit is scaled to norm 1.
globalThis.shareTrain = (response, credit, steps) => {
  const T = credit.length, norm = Math.hypot(...credit);
  const run = new Run(chainOf(response), {
    row: { refill: false }, prompts: 1, group_size: 1,
    sharing: "nothing", temperature: 1, offset: 0, optimizer: "sgd", lr: 0.5, critic_lr: 0,
    max_norm: 0,
  }, 0);
  const live = credit.map((_, t) => t), b = run.batch;
  for (const t of live) {
    b.state[t] = t;
    b.token[t] = 0;
    b.slope[t] = norm ? -credit[t] / norm : 0; // d loss / d log pi
  }
  const seen = [run.seen.success];
  for (let n = 0; n < steps; n++) {
    run.chain(live);
    run.descend();
    run.softmax(run.now);
    seen.push(run.exact().success);
  }
  return seen;
};
