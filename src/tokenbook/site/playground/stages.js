// The stages between rewards and gradient. Each function has the name of its original in the
// package, and the rows, written from ALGORITHMS, name the ones to call. Derivatives are by hand. A
// batch b is flat: word t of response i is at i * T + t. b.tokens[i] lists where response i has
// live tokens, those of the mask; b.kept[i] is whether it is trained on.

// A part has its dials and their defaults, so that an algorithm may leave them out; its other facts
// (its level of credit, whether it has a critic) are in `is`.
const part = (dials, run, is = {}) => Object.assign(run, { dials }, is);
const dialsOf = (parts, { f, ...given }) => ({ ...parts[f].dials, ...given });
const backwards = (tokens) => tokens.slice().reverse();
const TINY = 2 ** -511;

// Sizes, sums and deviations per group. Measured from the lowest, equal rewards are
// centred to exactly 0.
function groupRewards(rewards, groups, members) {
  const of = new Map(), centred = [];
  for (const i of members) {
    const g = of.get(groups[i]) ?? { size: 0, from: Infinity, sum: 0, squares: 0 };
    of.set(groups[i], g);
    g.from = Math.min(g.from, rewards[i]);
    g.size++;
  }
  for (const i of members) {
    const g = of.get(groups[i]);
    centred[i] = rewards[i] - g.from;
    g.sum += centred[i];
  }
  for (const i of members) {
    const g = of.get(groups[i]);
    centred[i] -= g.sum / g.size;
    g.squares += centred[i] ** 2;
  }
  for (const g of of.values()) g.std = Math.sqrt(g.squares / Math.max(g.size - 1, 1));
  return { of, centred };
}

const KEEP = {
  dynamic_sampling: part({}, (k, rewards, groups, members) => {
    const { of } = groupRewards(rewards, groups, members);
    return (i) => of.get(groups[i]).squares > 0;
  }),
  top_variance: part({ keep: 0.25 }, ({ keep }, rewards, groups, members) => {
    const { of } = groupRewards(rewards, groups, members), most = new Map();
    for (const i of members)
      most.set(groups[i], Math.max(most.get(groups[i]) ?? 0, Math.abs(rewards[i])));
    // Standard deviations that are equal up to rounding are tied: the first group wins.
    const slack = (id) => 4 * Number.EPSILON * most.get(id);
    const order = [...of.keys()], place = new Map(order.map((id, n) => [id, n]));
    const down = [...order].sort((one, two) => of.get(two).std - of.get(one).std);
    const rank = new Map();
    down.forEach((id, n) => {
      const above = down[n - 1];
      const apart = n && of.get(above).std - of.get(id).std > Math.min(slack(above), slack(id));
      rank.set(id, n ? rank.get(above) + apart : 0);
    });
    order.sort((one, two) => rank.get(one) - rank.get(two) || place.get(one) - place.get(two));
    const best = new Set(order.slice(0, Math.max(1, Math.floor(keep * order.length))));
    return (i) => best.has(groups[i]);
  }),
};

const LENGTH_PENALTY = {
  soft_overlong: part({ max_length: 1, cache: 1 }, ({ max_length, cache }, n) =>
    Math.min(0, Math.max(-1, (max_length - cache - n) / cache))),
};

// One number per response (credit "sequence") ...
const ADVANTAGE = {
  plain_reward: part({}, (k, rewards) => rewards, { credit_level: "sequence" }),
  group_relative: part({ scale: true, eps: 1e-6 }, (k, rewards, groups, members) => {
    const { of, centred } = groupRewards(rewards, groups, members);
    if (k.scale)
      for (const i of members)
        centred[i] /= of.get(groups[i]).std + Math.max(k.eps, TINY);
    return centred;
  }, { credit_level: "sequence" }),
  leave_one_out: part({}, (k, rewards, groups, members) => {
    const { of, centred } = groupRewards(rewards, groups, members);
    for (const i of members) {
      const n = of.get(groups[i]).size;
      centred[i] *= n / Math.max(n - 1, 1);
    }
    return centred;
  }, { credit_level: "sequence" }),
  // ... or one per token: these write b.advantages, and b.returns for the critic.
  gae: part({ gamma: 1, lam: 0.95 }, (k, b, members) => {
    for (const i of members) {
      let ahead = b.last[i];
      for (const j of backwards(b.tokens[i])) {
        b.returns[j] = b.rewards[j] + k.gamma * ahead;
        ahead = (1 - k.lam) * b.values[j] + k.lam * b.returns[j];
      }
    }
  }, { credit_level: "token", critic: true }),
  turn_gae: part({ gamma: 1, lam: 0.95, turn_gamma: 0.95 }, (k, b, members) => {
    for (const i of members) {
      let turns = b.last[i], ahead = 0; // beyond the end a turn would begin
      for (const j of backwards(b.tokens[i])) {
        if (b.ends[j]) {
          b.returns[j] = b.rewards[j] + k.turn_gamma * turns;
          turns = (1 - k.lam) * b.values[j] + k.lam * b.returns[j];
        } else b.returns[j] = k.gamma * ahead;
        ahead = (1 - k.lam) * b.values[j] + k.lam * b.returns[j];
      }
    }
  }, { credit_level: "turn", critic: true }),
  group_turns: part({ scale: true, eps: 1e-6 }, (k, b, members) => {
    const ends = members.flatMap((i) => b.tokens[i].filter((j) => b.ends[j]));
    const groups = [];
    for (const j of ends) groups[j] = b.groups[(j / b.T) | 0];
    const z = ADVANTAGE.group_relative(k, b.rewards, groups, ends);
    for (const i of members) {
      let sum = 0;
      for (const j of backwards(b.tokens[i])) b.returns[j] = sum += b.ends[j] ? z[j] : 0;
    }
  }, { credit_level: "turn" }),
};


const KL_ESTIMATOR = { // d = log pi - log ref -> the estimate and its derivative
  k1: (d) => [d, 1],
  k2: (d) => [d * d / 2, d],
  k3: (d) => [Math.expm1(-d) + d, -Math.expm1(-d)],
  abs: (d) => [Math.abs(d), Math.sign(d)],
};

const AGGREGATION = { // divisors of the sum of a response, and then of all
  "token-sum": [null, null],
  "token-mean": [null, "tokens"],
  "seq-mean-token-mean": ["tokens", "sequences"],
  "seq-mean-token-sum": [null, "sequences"],
  "seq-sum-token-mean": ["tokens", null],
  "seq-mean-token-sum-norm": ["max_length", "sequences"],
};

// log rho of the tokens of one response (b.ratio), from b.now and b.old.
const LOG_RATIO = {
  token_log_ratio: part({}, (k, b, tokens) => {
    for (const j of tokens) b.ratio[j] = b.now[j] - b.old[j];
  }),
  sequence_log_ratio: part({}, (k, b, tokens) => {
    let mean = 0;
    for (const j of tokens) mean += (b.now[j] - b.old[j]) / tokens.length;
    for (const j of tokens) b.ratio[j] = mean;
  }),
};

// d loss / d log pi of the tokens of one response (b.slope), from their log-ratios and
// advantages. A loss may look at all of its tokens; most look at one, x and A.
const perToken = (loss) => (k) => {
  const slope = loss(k);
  return (b, tokens) => {
    const { ratio, advantages } = b;
    for (const j of tokens) b.slope[j] = slope(ratio[j], advantages[j]);
  };
};
const clipped = (k) => {
  const low = Math.log(Math.max(1 - k.clip_low, 0)), high = Math.log1p(k.clip_high);
  const far = (k.dual_clip ?? null) === null ? Infinity : Math.log(k.dual_clip);
  return (x, A) => (A >= 0 ? x > high : x < low || x > far) ? 0 : -A * Math.exp(x);
};
const LOSS = {
  reinforce_loss: part({}, perToken(() => (x, A) => -A)),
  ppo_clip_loss: part({ clip_low: 0.2, clip_high: 0.2, dual_clip: null }, perToken(clipped)),
  cispo_loss: part({ clip_low: null, clip_high: 4 }, perToken((k) => {
    const low = 1 - (k.clip_low ?? 1), high = 1 + k.clip_high;
    return (x, A) => -A * Math.min(high, Math.max(low, Math.exp(x)));
  })),
  gmpo_loss: part({ clip_low: 0.4, clip_high: 0.4 }, (k) => (b, tokens) => {
    const { ratio, advantages, slope } = b;
    const open = (j) => (advantages[j] >= 0 ? ratio[j] <= k.clip_high : ratio[j] >= -k.clip_low);
    let sum = 0;
    for (const j of tokens)
      sum += open(j) ? ratio[j] : advantages[j] >= 0 ? k.clip_high : -k.clip_low;
    const mean = Math.exp(sum / tokens.length);
    let A = 0; // every token's loss is -A times the mean, so each feels all of them
    for (const j of tokens) A += advantages[j] / tokens.length;
    for (const j of tokens) slope[j] = open(j) ? -A * mean : 0;
  }),
  sapo_loss: part({ tau_pos: 1, tau_neg: 1.05 }, perToken((k) => (x, A) => {
    if (x > 80) return 0;
    const tau = A > 0 ? k.tau_pos : k.tau_neg, ratio = Math.exp(x);
    const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)));
    return -A * 4 * gate * (1 - gate) * ratio;
  })),
  dppo_loss: part({ diff_low: 0.15, diff_high: 0.15 }, (k) => (b, tokens) => {
    const { ratio, advantages, slope, now } = b;
    for (const j of tokens) {
      const rise = Math.exp(now[j]) - Math.exp(now[j] - ratio[j]);
      const shut = advantages[j] > 0 ? rise > k.diff_high : rise < -k.diff_low;
      slope[j] = shut ? 0 : -advantages[j] * Math.exp(ratio[j]);
    }
  }),
  // `old` is the trainer's here, and `sampler` the one that wrote the tokens.
  corrected_clip_loss: part({ clip_low: 0.2, clip_high: 0.2, cap: 2 }, (k) => {
    const slope = clipped(k);
    return (b, tokens) => {
      for (const j of tokens) {
        const weight = Math.min(k.cap ?? Infinity, Math.exp(b.old[j] - b.sampler[j]));
        b.slope[j] = weight * slope(b.ratio[j], b.advantages[j]);
      }
    };
  }, { corrects: true }),
  masked_clip_loss: part({ clip_low: 0.2, clip_high: 0.2, weight_low: 0.5, weight_high: 5 }, (k) => {
    const slope = clipped(k);
    const low = Math.log(k.weight_low) - NEAR, high = Math.log(k.weight_high) + NEAR;
    return (b, tokens) => {
      for (const j of tokens) {
        const gap = b.old[j] - b.sampler[j], kept = gap >= low && gap <= high;
        b.slope[j] = kept ? Math.exp(gap) * slope(b.ratio[j], b.advantages[j]) : 0;
      }
    };
  }, { corrects: true }),
};

// A range for the loss, chosen at every step from all live tokens.
const NEAR = 1e-6; // closer than this is on the bound, or at the target
const CLIP_RULE = {
  balanced_clip: part(
    {
      measure: "unclipped", first: "high", target: 0.4, low: [0.6, 0.9], high: [1.2, 3],
      low_step: 0.02, high_step: 0.05, partial_step: false,
    },
    (k, b, live) => {
      const steps = ([from, to], step) => {
        const count = (to - from) / step;
        const whole = k.partial_step ? Math.floor(count + 1e-9) : Math.round(count);
        const found = Array.from({ length: whole + 1 }, (_, n) => from + step * n);
        if (k.partial_step && to - found.at(-1) >= 1e-9) found.push(to);
        return found;
      };
      const all = k.measure === "clipped"; // or only those whose gradient the range leaves
      const reached = (low, high) => {
        let positive = 0, negative = 0;
        for (const j of live) {
          const ratio = Math.exp(b.ratio[j]), A = b.advantages[j];
          if (A > 0 && (all || ratio < high - NEAR)) positive += Math.min(ratio, high) * A;
          if (A < 0 && (all || ratio > low + NEAR)) negative -= Math.max(ratio, low) * A;
        }
        const sum = positive + negative;
        return sum === 0 || positive / sum >= k.target - NEAR;
      };
      const lows = steps(k.low, k.low_step), highs = steps(k.high, k.high_step);
      let low = lows[0], high = highs[0];
      for (const side of k.first === "high" ? ["high", "low"] : ["low", "high"])
        if (side === "high") high = highs.find((one) => reached(low, one)) ?? highs.at(-1);
        else low = lows.find((one) => reached(one, high)) ?? lows.at(-1);
      return { clip_low: 1 - low, clip_high: high - 1 };
    }),
};

// The allowed values of an algorithm, field by field: a part by its name, one of a few words, or a
// number or switch. `missing` lists values that this page does not have; it fails the build.
const PARTS = {
  length_penalty: LENGTH_PENALTY, keep: KEEP, advantage: ADVANTAGE,
  log_ratio: LOG_RATIO, loss: LOSS, clip_rule: CLIP_RULE,
};
const CHOICES = {
  credit_level: ["sequence", "turn", "token"],
  kl_estimator: Object.keys(KL_ESTIMATOR),
  kl_in: ["reward", "loss"],
  aggregation: Object.keys(AGGREGATION),
};
const NUMBERS = ["kl_coef", "entropy_coef", "value_coef", "value_clip"];
const SWITCHES = ["whiten", "refill"];

function missing(row) {
  const known = [...Object.keys(PARTS), ...Object.keys(CHOICES), ...NUMBERS, ...SWITCHES];
  const lack = [];
  for (const [field, value] of Object.entries(row)) {
    if (field === "name" || value === null || value === false) continue;
    if (!known.includes(field)) lack.push(`the field ${field}`);
    else if (CHOICES[field] && !CHOICES[field].includes(value))
      lack.push(`${field} ${JSON.stringify(value)}`);
    else if (PARTS[field] && !PARTS[field][value.f]) lack.push(`${field} ${value.f}`);
    else if (PARTS[field])
      for (const dial of Object.keys(value))
        if (dial !== "f" && !(dial in PARTS[field][value.f].dials))
          lack.push(`the dial ${dial} of ${value.f}`);
  }
  const rule = ADVANTAGE[row.advantage.f];
  if (rule && rule.credit_level !== row.credit_level)
    lack.push(`${row.advantage.f} with credit ${JSON.stringify(row.credit_level)}`);
  return lack.map((what) => `${row.name}: ${what}`);
}

// Mask of the responses that a row keeps, by their rewards.
const filterOf = (row) => (scores, groups, members) =>
  row.keep ? KEEP[row.keep.f](dialsOf(KEEP, row.keep), scores, groups, members) : () => true;

const hasCritic = (row) => ADVANTAGE[row.advantage.f].critic === true;

// From rewards to one advantage per token, as `shaped_rewards`, `token_advantages` and
// `masked_whiten` have it.
function assignCredit(row, b) {
  const { rewards, ends, advantages, returns } = b;
  const everyone = Array.from({ length: b.B }, (_, i) => i);
  const total = (tokens) => {
    let sum = 0;
    for (const j of tokens) sum += rewards[j];
    return sum;
  };
  for (const i of everyone) b.scores[i] = total(b.tokens[i]);
  advantages.fill(0);
  const responses = everyone.filter((i) => b.tokens[i].length); // the others are none
  const keep = b.filtered ? () => true : filterOf(row)(b.scores, b.groups, responses);
  b.kept.fill(0);
  const members = responses.filter((i) => (b.kept[i] = +keep(i)));

  for (const i of members) { // the row's own terms of the rewards
    const tokens = b.tokens[i];
    if (row.length_penalty && tokens.length) {
      const penalty = LENGTH_PENALTY[row.length_penalty.f];
      rewards[tokens.at(-1)] +=
        penalty(dialsOf(LENGTH_PENALTY, row.length_penalty), tokens.length);
    }
    if (row.kl_coef && row.kl_in === "reward")
      for (const j of tokens)
        rewards[j] -= row.kl_coef * KL_ESTIMATOR[row.kl_estimator](b.old[j] - b.ref[j])[0];
    if (row.credit_level === "turn") { // the reward of a turn counts at its end
      let end = -1;
      for (const j of backwards(tokens)) {
        if (ends[j]) end = j;
        else rewards[end] += rewards[j], rewards[j] = 0;
      }
    }
    b.scores[i] = total(tokens);
  }

  const rule = ADVANTAGE[row.advantage.f], dials = dialsOf(ADVANTAGE, row.advantage);
  if (row.credit_level === "sequence") {
    const scores = rule(dials, b.scores, b.groups, members);
    for (const i of members) for (const j of b.tokens[i]) advantages[j] = scores[i];
  } else {
    rule(dials, b, members);
    const critic = hasCritic(row);
    for (const i of members)
      for (const j of b.tokens[i])
        advantages[j] = returns[j] - (critic ? b.values[j] : 0);
  }
  if (row.whiten) whiten(advantages, members.flatMap((i) => b.tokens[i]));
}

function whiten(x, places) {
  const from = x[places[0]];
  const mean = places.reduce((sum, j) => sum + (x[j] - from), 0) / places.length;
  for (const j of places) x[j] = x[j] - from - mean;
  const squares = places.reduce((sum, j) => sum + x[j] ** 2, 0);
  const std = Math.sqrt(squares / Math.max(places.length - 1, 1) + 1e-8);
  for (const j of places) x[j] /= std;
}

// From advantages to d loss / d log pi (b.slope) and d loss / d entropy (b.bonus), for
// an optimizer step on the responses `rows`. A live token whose advantage is not 0 and
// whose policy loss does not move is shut.
function weigh(row, b, rows, maxLength) {
  const responses = rows.filter((i) => b.kept[i] && b.tokens[i].length);
  const live = [];
  for (const i of responses) live.push(...b.tokens[i]);
  const log_ratio = LOG_RATIO[row.log_ratio.f], k = dialsOf(LOG_RATIO, row.log_ratio);
  for (const i of responses) log_ratio(k, b, b.tokens[i]);
  const range = row.clip_rule
    && CLIP_RULE[row.clip_rule.f](dialsOf(CLIP_RULE, row.clip_rule), b, live);
  const loss = LOSS[row.loss.f]({ ...dialsOf(LOSS, row.loss), ...range });
  for (const i of responses) loss(b, b.tokens[i]);

  const [perRow, perBatch] = AGGREGATION[row.aggregation];
  const whole = { tokens: live.length, sequences: responses.length }[perBatch] ?? 1;
  const kl = row.kl_coef && row.kl_in === "loss" && KL_ESTIMATOR[row.kl_estimator];
  const { advantages, slope, bonus, shut, now, ref } = b;
  let clipped = 0, counted = 0;
  for (const i of responses) {
    const length = b.tokens[i].length;
    const own = perRow === "tokens" ? length : perRow === "max_length" ? maxLength : 1;
    for (const j of b.tokens[i]) {
      shut[j] = advantages[j] !== 0 && slope[j] === 0;
      clipped += shut[j];
      counted += advantages[j] !== 0;
      if (kl) slope[j] += row.kl_coef * kl(now[j] - ref[j])[1];
      slope[j] /= own * whole;
      bonus[j] = -row.entropy_coef / (own * whole);
    }
  }
  return { live, range, clipped: counted ? clipped / counted : 0 };
}
