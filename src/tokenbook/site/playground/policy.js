// A policy on a tree: it samples, learns as the stages say, and is measured exactly.
const ROUNDS = 3; // of sampling at most, if a row refills its batch

function dice(seed) { // mulberry32: the same numbers in every browser
  let a = seed * 7919 + 13;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const normal = (random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

// Factor on the critic's table: its own learning rate, in an optimizer with a single one.
function criticScale({ critic_lr, lr, optimizer }) {
  return optimizer === "sgd" ? Math.sqrt(critic_lr / lr) : critic_lr / lr;
}

class Run {
  // set: the row, and the dials that belong to no algorithm.
  constructor(tree, set, seed) {
    const { S, V, P, start } = tree, own = SHARING[set.sharing];
    const numbers = (n) => new Float64Array(n);
    Object.assign(this, { tree, set, random: dice(seed), steps: 0, drawn: 0, failed: false });
    this.criticScale = criticScale(set);
    this.feature = Int32Array.from({ length: P * S }, (_, x) => own(tree, (x / S) | 0, x % S));
    this.N = (Math.max(...this.feature) + 1) * V; // logits; the critic's table follows
    this.theta = numbers(this.N + P * S);
    for (let x = P * S - 1; x >= 0; x--) // a word's logit is that of its first place
      for (let a = 0, k = (x % S) * V; a < V; a++, k++)
        if (tree.child[k] !== NO_WORD) this.theta[this.feature[x] * V + a] = start[k];
    this.gradient = numbers(this.theta.length);
    this.first = numbers(this.theta.length);
    this.second = numbers(this.theta.length);
    const table = () => ({ p: numbers(P * S * V), log: numbers(P * S * V), H: numbers(P * S) });
    this.now = table();
    this.sampler = { ...table(), values: numbers(P * S) };
    this.reference = table();
    this.softmax(this.now);
    this.softmax(this.reference);
    this.exactGradient = numbers(this.N);
    this.reach = numbers(S);
    this.worth = numbers(S);
    this.batch = this.room();
    this.exact();
  }

  // Other dials from here on; the weights stay.
  turn(set) {
    const scale = criticScale(set);
    for (let i = this.N; i < this.theta.length; i++) this.theta[i] *= this.criticScale / scale;
    this.criticScale = scale;
    this.set = set;
    this.batch = this.room();
  }

  room() {
    const { prompts, group_size, row } = this.set, T = this.tree.T;
    const B = prompts * group_size * (row.refill ? ROUNDS : 1);
    const numbers = (n) => new Float64Array(n), whole = (n) => new Int32Array(n);
    return {
      B: 0, T, tokens: Array.from({ length: B }, () => []),
      token: whole(B * T), state: whole(B * T), ends: whole(B * T), shut: whole(B * T),
      rewards: numbers(B * T), old: numbers(B * T), ref: numbers(B * T), now: numbers(B * T),
      sampler: numbers(B * T),
      values: numbers(B * T), advantages: numbers(B * T), returns: numbers(B * T),
      ratio: numbers(B * T), slope: numbers(B * T), bonus: numbers(B * T),
      scores: numbers(B), paid: numbers(B), right: numbers(B), last: numbers(B),
      groups: whole(B), prompt: whole(B), length: whole(B), kept: whole(B),
    };
  }

  // The distribution over words in every state, at the temperature of sampling.
  softmax(out) {
    const { S, V, P, child, world } = this.tree, { feature, theta } = this;
    for (let x = 0; x < P * S; x++) {
      const s = x % S, row = feature[x] * V, heat = world[s] ? 1 : this.set.temperature;
      let most = -Infinity, sum = 0, H = 0;
      for (let a = 0; a < V; a++)
        if (child[s * V + a] !== NO_WORD && theta[row + a] > most) most = theta[row + a];
      for (let a = 0; a < V; a++)
        if (child[s * V + a] !== NO_WORD) sum += Math.exp((theta[row + a] - most) / heat);
      for (let a = 0; a < V; a++) {
        const k = x * V + a;
        if (child[s * V + a] === NO_WORD) { out.p[k] = out.log[k] = 0; continue; }
        out.log[k] = (theta[row + a] - most) / heat - Math.log(sum);
        out.p[k] = Math.exp(out.log[k]);
        if (out.p[k]) H -= out.p[k] * out.log[k];
      }
      out.H[x] = H;
    }
  }

  // One response to prompt q, as number i of the batch.
  say(i, q, group) {
    const { tree, set, random, batch: b, sampler } = this, { S, V, child } = tree;
    const tokens = b.tokens[i];
    let s = 0, j = i * b.T;
    tokens.length = 0;
    for (;;) {
      const x = q * S + s;
      let u = random(), a = 0;
      while (a < V - 1 && (u -= sampler.p[x * V + a]) >= 0) a++;
      while (child[s * V + a] === NO_WORD) a--;
      const k = x * V + a, next = child[s * V + a];
      b.token[j] = a;
      b.state[j] = x;
      b.old[j] = sampler.log[k];
      b.ref[j] = this.reference.log[k];
      b.values[j] = sampler.values[x];
      b.rewards[j] = b.slope[j] = b.shut[j] = 0;
      b.ends[j] = +(next === CLOSED || tree.world[next]);
      if (!tree.world[s]) tokens.push(j);
      j++;
      if (next === CLOSED) {
        b.right[i] = tree.right[q][s * V + a];
        b.paid[i] = tree.paid[q][s * V + a] + set.offset;
        if (set.noise) b.paid[i] += set.noise * normal(random);
        break;
      }
      s = next;
    }
    b.ends[tokens.at(-1)] = 1;
    b.rewards[tokens.at(-1)] = b.paid[i];
    b.length[i] = j - i * b.T;
    b.prompt[i] = q;
    b.groups[i] = group;
    b.last[i] = 0;
  }

  // A round of sampling; a row that refills samples again for the responses its filter dropped.
  sample() {
    const { set, batch: b } = this, { prompts, group_size, row } = set, P = this.tree.P;
    const full = prompts * group_size;
    let B = 0;
    for (let round = 0; round < (row.refill ? ROUNDS : 1) && B < full; round++) {
      const first = (this.random() * P) | 0, from = B, drawn = [];
      for (let n = 0; n < full; n++, B++) {
        const g = (n / group_size) | 0;
        this.say(B, (first + g) % P, round * prompts + g);
        drawn.push(B);
      }
      this.drawn += full;
      if (!row.refill) continue;
      const keep = filterOf(row)(b.paid, b.groups, drawn), kept = drawn.filter(keep);
      kept.forEach((i, n) => this.move(i, from + n));
      B = Math.min(from + kept.length, full);
    }
    b.B = B;
    b.filtered = row.refill;
    const all = Array.from({ length: B }, (_, i) => i), { of } = groupRewards(b.paid, b.groups, all);
    const alive = [...of.values()].filter(({ squares }) => squares > 0).length;
    this.dead = 1 - alive / prompts; // places of the batch that teach nothing
  }

  // Response i takes place k.
  move(i, k) {
    const { batch: b } = this, num = b.tokens.length;
    if (i === k) return;
    for (const x of Object.values(b))
      if (ArrayBuffer.isView(x)) {
        const each = x.length / num;
        x.copyWithin(k * each, i * each, (i + 1) * each);
      }
    b.tokens[k] = b.tokens[i].map((j) => j + (k - i) * b.T);
  }

  // One iteration: sample, credit, then the epochs. Measures first, so that the numbers
  // speak of the policy that sampled.
  step() {
    const { set, batch: b } = this;
    if (this.steps % set.refresh === 0) this.refresh();
    this.exact();
    this.sample();
    if (LOSS[set.row.loss.f].corrects) this.readAgain();
    assignCredit(set.row, b);
    const order = Array.from({ length: b.B }, (_, i) => i);
    const size = Math.max(1, Math.ceil(b.B / set.minibatches));
    let clipped = 0, updates = 0;
    for (let epoch = 0; epoch < set.epochs; epoch++) {
      if (set.minibatches > 1) this.shuffle(order);
      for (let at = 0; at < Math.max(b.B, 1); at += size) {
        clipped += this.update(order.slice(at, at + size));
        if (!updates++) this.cosine = set.minibatches > 1 ? NaN : this.agreement();
        if (this.failed) return;
      }
    }
    this.clipped = clipped / updates;
    this.steps++;
  }

  // For a loss that corrects for the sampler, `old` is the trainer's own probability.
  readAgain() {
    const { batch: b, now, tree } = this;
    for (let i = 0; i < b.B; i++)
      for (const j of b.tokens[i]) {
        b.sampler[j] = b.old[j];
        b.old[j] = now.log[b.state[j] * tree.V + b.token[j]];
      }
  }

  refresh() {
    const { sampler, now, theta, N, criticScale } = this;
    sampler.p.set(now.p);
    sampler.log.set(now.log);
    for (let x = 0; x < sampler.values.length; x++) sampler.values[x] = criticScale * theta[N + x];
  }

  shuffle(order) {
    for (let i = order.length - 1; i > 0; i--) {
      const k = (this.random() * (i + 1)) | 0;
      [order[i], order[k]] = [order[k], order[i]];
    }
  }

  // The results of the stages for some responses, under the current policy.
  weights(rows) {
    const { batch: b, now, tree, set } = this;
    for (const i of rows)
      for (const j of b.tokens[i]) b.now[j] = now.log[b.state[j] * tree.V + b.token[j]];
    return weigh(set.row, b, rows, tree.T);
  }

  // An optimizer step on some responses; the share of their tokens that is clipped.
  update(rows) {
    const { live, clipped } = this.weights(rows);
    this.chain(live);
    if (!Number.isFinite(this.norm)) this.failed = true;
    else {
      this.descend();
      this.softmax(this.now);
    }
    return clipped;
  }

  // d loss / d log pi and d loss / d H -> d loss / d theta; the critic's loss besides.
  chain(live) {
    const { batch: b, gradient, now, feature, set, N, theta } = this;
    const { V, S, child } = this.tree, { row, temperature } = set, scale = this.criticScale;
    gradient.fill(0);
    for (const j of live) {
      const x = b.state[j], at = feature[x] * V;
      const slope = b.slope[j] / temperature, bonus = b.bonus[j] / temperature;
      for (let a = 0; a < V; a++) {
        if (child[(x % S) * V + a] === NO_WORD) continue;
        const k = x * V + a, p = now.p[k];
        gradient[at + a] += slope * ((a === b.token[j]) - p);
        if (bonus && p) gradient[at + a] -= bonus * p * (now.log[k] + now.H[x]);
      }
      if (hasCritic(row))
        gradient[N + x] += row.value_coef * scale / live.length
          * valueSlope(scale * theta[N + x], b.values[j], b.returns[j], row.value_clip);
    }
    let squares = 0;
    for (const g of gradient) squares += g * g;
    this.norm = Math.sqrt(squares);
  }

  descend() {
    const { theta, gradient, first, second, set } = this, { lr, max_norm } = set;
    const k = max_norm && this.norm > max_norm ? max_norm / (this.norm + 1e-6) : 1;
    if (set.optimizer === "sgd") {
      for (let i = 0; i < theta.length; i++) theta[i] -= lr * k * gradient[i];
      return;
    }
    this.moves = (this.moves ?? 0) + 1; // Adam with torch's defaults
    const bias1 = 1 - 0.9 ** this.moves, bias2 = 1 - 0.999 ** this.moves;
    for (let i = 0; i < theta.length; i++) {
      const g = k * gradient[i];
      first[i] += 0.1 * (g - first[i]);
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      theta[i] -= (lr / bias1) * first[i] / (Math.sqrt(second[i] / bias2) + 1e-8);
    }
  }

  // By enumeration: reward, success, length, entropy per word, KL to the start, and the
  // gradient of the reward.
  exact() {
    const { tree, now, reference, set, exactGradient, reach } = this;
    const { S, V, P, child, world, paid, right } = tree;
    const seen = { reward: set.offset, success: 0, length: 0, entropy: 0, kl: 0, each: [] };
    let chosen = 0;
    exactGradient.fill(0);
    for (let q = 0; q < P; q++) {
      let success = 0;
      reach.fill(0);
      reach[0] = 1;
      for (let s = 0; s < S; s++) {
        const x = q * S + s, here = reach[s], own = !world[s];
        if (!here) continue;
        seen.length += here / P;
        if (own) {
          seen.entropy += here * now.H[x];
          chosen += here;
        }
        for (let a = 0; a < V; a++) {
          const k = s * V + a, at = x * V + a, p = here * now.p[at];
          if (child[k] === NO_WORD || !p) continue;
          if (own) seen.kl += p * (now.log[at] - reference.log[at]) / P;
          if (child[k] >= 0) reach[child[k]] += p;
          else {
            seen.reward += p * paid[q][k] / P;
            success += p * right[q][k];
          }
        }
      }
      this.slopes(q);
      seen.each.push(success);
      seen.success += success / P;
    }
    seen.entropy /= chosen;
    return (this.seen = seen);
  }

  // The value of each state of a prompt, from the ends back, and its gradient.
  slopes(q) {
    const { tree, now, feature, set, exactGradient, reach, worth } = this;
    const { S, V, P, child, world, paid } = tree;
    const ahead = (k) => (child[k] >= 0 ? worth[child[k]] : paid[q][k]);
    for (let s = S - 1; s >= 0; s--) {
      const x = q * S + s, at = feature[x] * V;
      worth[s] = 0;
      for (let a = 0; a < V; a++)
        if (child[s * V + a] !== NO_WORD) worth[s] += now.p[x * V + a] * ahead(s * V + a);
      if (world[s] || !reach[s]) continue;
      const scale = reach[s] / P / set.temperature;
      for (let a = 0; a < V; a++)
        if (child[s * V + a] !== NO_WORD)
          exactGradient[at + a] += scale * now.p[x * V + a] * (ahead(s * V + a) - worth[s]);
    }
  }

  // The cosine between the batch's step and the exact gradient.
  agreement() {
    const { exactGradient: exact, gradient, N } = this;
    let both = 0, one = 0, two = 0;
    for (let i = 0; i < N; i++) {
      both -= exact[i] * gradient[i];
      one += exact[i] ** 2;
      two += gradient[i] ** 2;
    }
    return one > 1e-20 && two > 0 ? both / Math.sqrt(one * two) : NaN;
  }

  // The same for fresh batches of a fixed policy.
  resample(times) {
    const twin = new Run(this.tree, this.set, 1000 + this.steps);
    twin.theta.set(this.theta);
    twin.reference = this.reference;
    twin.softmax(twin.now);
    twin.refresh();
    twin.exact();
    return Array.from({ length: times }, () => {
      twin.sample();
      if (LOSS[twin.set.row.loss.f].corrects) twin.readAgain();
      assignCredit(twin.set.row, twin.batch);
      twin.chain(twin.weights(Array.from({ length: twin.batch.B }, (_, i) => i)).live);
      return twin.agreement();
    });
  }
}

// d/dV of half the larger of the clipped and the unclipped squared error.
function valueSlope(value, old, target, clip) {
  const error = value - target;
  if (clip === null) return error;
  const near = old + Math.min(clip, Math.max(-clip, value - old));
  return error ** 2 >= (near - target) ** 2 ? error : 0;
}
