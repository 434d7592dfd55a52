// The dials, and the effect of a turned dial on a run. A setting is one value for every dial of one
// side.
const STAGES = ["prompt", "tokens", "reward", "credit", "weight", "gradient"];
const NONE = "none", NO_LIMIT = 1e9;

// Dials that belong to no algorithm. [stage, start value, values, starts over?]
const WORLD = {
  prompts: ["prompt", 8, [1, 2, 4, 8, 16]],
  group_size: ["prompt", 8, [2, 4, 8, 16, 32]],
  temperature: ["tokens", 1, [0.5, 0.7, 1, 1.3, 2], true],
  refresh: ["tokens", 1, [1, 2, 4, 8, 16]],
  sharing: ["tokens", "nothing", Object.keys(SHARING), true],
  noise: ["reward", 0, [0, 0.25, 0.5, 1, 2]],
  offset: ["reward", 0, [-2, -1, 0, 1, 2]],
  optimizer: ["gradient", "sgd", ["sgd", "adam"], true],
  lr: ["gradient", 20, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8, 10, 20, 40, 80]],
  critic_lr: ["gradient", 4, [0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16], true],
  epochs: ["gradient", 1, [1, 2, 4, 8, 16]],
  minibatches: ["gradient", 1, [1, 2, 4]],
  max_norm: ["gradient", 0, [0, 0.01, 0.1, 1]],
};
// Dials that are fields of the algorithm, with their stage. A field that names a part adds a dial
// "field.dial" for each dial of its parts.
const FIELD = {
  length_penalty: "reward", keep: "credit", advantage: "credit", whiten: "credit",
  log_ratio: "weight", loss: "weight", clip_rule: "weight", aggregation: "weight",
  kl_coef: "reward", kl_estimator: "reward", kl_in: "reward", entropy_coef: "weight",
  value_clip: "gradient",
};
const LADDER = {
  kl_coef: [0, 0.001, 0.01, 0.04, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5],
  entropy_coef: [0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2],
  value_clip: [NONE, 0.2, 0.5, 1],
  clip_low: [NONE, 0.0003, 0.1, 0.2, 0.3, 0.5, 1],
  clip_high: [0.0004, 0.1, 0.2, 0.28, 0.5, 1, 4, NO_LIMIT],
  dual_clip: [NONE, 2, 3, 5], lam: [0, 0.5, 0.8, 0.9, 0.95, 1],
  gamma: [0.5, 0.8, 0.9, 0.95, 1], turn_gamma: [0.5, 0.8, 0.95, 1],
  keep: [0.25, 0.5, 0.75, 1], max_length: [4, 6, 8, 10, 20480], cache: [1, 2, 4, 4096],
  target: [0.3, 0.4, 0.5, 0.6], cap: [NONE, 1, 2, 5],
  diff_low: [0.05, 0.15, 0.3, 1], diff_high: [0.05, 0.15, 0.3, 1],
  tau_pos: [0.5, 1, 2, 5], tau_neg: [0.5, 1, 2, 5],
};
const OPTIONAL = ["length_penalty", "keep", "clip_rule"];
const COUNTS = ["prompts", "group_size", "refresh", "epochs", "minibatches"];
const HIDDEN = [ // of the parts
  "eps", "measure", "first", "low", "high", "low_step", "high_step", "partial_step",
];

// The default of a part's dial: of the first part that has one.
const usual = (field, dial) =>
  Object.values(PARTS[field]).find((one) => dial in one.dials).dials[dial];
const around = (x) => [x / 4, x / 2, x, 2 * x, 4 * x];

const DIALS = allDials();

function allDials() {
  const dials = {};
  for (const [name, [stage, start, values, again]] of Object.entries(WORLD))
    dials[name] = { stage, start, values, again, choice: typeof start === "string" };
  for (const [name, stage] of Object.entries(FIELD)) {
    const number = NUMBERS.includes(name);
    dials[name] = { stage, values: number ? LADDER[name] : valuesOf(name), choice: !number };
    const parts = Object.values(PARTS[name] ?? {});
    for (const dial of new Set(parts.flatMap((one) => Object.keys(one.dials)))) {
      if (HIDDEN.includes(dial)) continue;
      const start = usual(name, dial), choice = typeof start === "boolean";
      const values = choice ? [true, false] : LADDER[dial] ?? around(start);
      dials[`${name}.${dial}`] = { stage, choice, values, of: name, dial };
    }
  }
  return dials;
}

function valuesOf(field) {
  if (SWITCHES.includes(field)) return [false, true];
  if (CHOICES[field]) return CHOICES[field];
  const parts = Object.keys(PARTS[field]);
  if (field === "loss") parts.splice(2, 0, "unclipped"); // PPO's, with a range of no end
  return OPTIONAL.includes(field) ? [NONE, ...parts] : parts;
}

// The setting of an algorithm of the table.
function dialsOfRow(row) {
  const set = { algorithm: row.name };
  for (const [name, { start, of, dial }] of Object.entries(DIALS)) {
    if (name in WORLD) set[name] = start;
    else if (of) {
      const own = row[of] && full(of, row[of])[dial];
      set[name] = (own === undefined ? usual(of, dial) : own) ?? NONE;
    } else set[name] = (PARTS[name] ? row[name]?.f : row[name]) ?? NONE;
  }
  return set;
}

// A part with every dial that it leaves out.
const full = (field, part) => ({ ...PARTS[field][part.f].dials, ...part });

// The parts of a run: the algorithm with its dials turned, and the rest.
function settingOf(set, row) {
  const own = { ...row, credit_level: ADVANTAGE[set.advantage].credit_level };
  for (const name of Object.keys(FIELD))
    own[name] = set[name] === NONE ? null : PARTS[name] ? partOf(set, name, row) : set[name];
  const same = set.keep === (row.keep?.f ?? NONE);
  own.refill = same ? row.refill : set.keep === "dynamic_sampling";
  if (hasCritic(own)) own.value_coef ||= 0.5; // an algorithm without a critic has none
  const world = Object.keys(WORLD).map((name) => [name, set[name]]);
  return { ...Object.fromEntries(world), row: own };
}

function partOf(set, name, row) {
  const f = set[name];
  if (f === "unclipped") return { f: "ppo_clip_loss", clip_low: 1, clip_high: NO_LIMIT };
  const part = { ...(row[name]?.f === f ? row[name] : {}), f };
  for (const dial of Object.keys(PARTS[name][f].dials)) {
    const value = set[`${name}.${dial}`];
    if (value !== undefined) part[dial] = value === NONE ? null : value;
  }
  return part;
}

// Turn a dial in place. An algorithm sets every field of its own, a part sets its own dials, too.
function turn(set, name, value, rows) {
  set[name] = value;
  const own = dialsOfRow(rows[set.algorithm]);
  if (name === "algorithm")
    for (const dial of Object.keys(DIALS)) if (!(dial in WORLD)) set[dial] = own[dial];
  for (const [dial, start] of Object.entries(PARTS[name]?.[value]?.dials ?? {})) {
    const whole = `${name}.${dial}`;
    if (whole in DIALS) set[whole] = own[name] === value ? own[whole] : start ?? NONE;
  }
}

// The settings of both sides of a story.
function settingsOf(story, rows) {
  const sides = {};
  for (const side of ["A", "B"]) {
    const set = (sides[side] = dialsOfRow(rows[story.algorithm]));
    const told = { ...story.both, ...story[side] };
    for (const [name, value] of Object.entries(told)) turn(set, name, value, rows);
  }
  return sides;
}

const isFresh = (set) => set.epochs === 1 && set.minibatches === 1 && set.refresh === 1;

// The reason why a dial has no effect in this setting: the id of a sentence, or nothing.
function idle(name, set, task) {
  const { of, dial } = DIALS[name], rule = ADVANTAGE[set.advantage];
  if (of && !(dial in (PARTS[of][set[of]]?.dials ?? {})))
    return set[of] === NONE ? `no_${of}` : of === "advantage" ? "no_such_credit" : "no_range";
  if (of === "loss" && set.clip_rule !== NONE && dial.startsWith("clip_")) return "ruled";
  const ofSampler = ["cap", "weight_low", "weight_high"].includes(dial);
  if (ofSampler && set.refresh === 1) return "sampler_is_policy";
  const weighs = of === "loss" || name === "log_ratio" || name === "clip_rule";
  if (weighs && set.loss === "reinforce_loss") return "no_ratio";
  if (weighs && !ofSampler && isFresh(set)) return "ratio_one";
  if (name === "clip_rule" && !("clip_low" in (LOSS[set.loss]?.dials ?? {}))) return "no_range";
  if ((name === "kl_estimator" || name === "kl_in") && !set.kl_coef) return "no_kl";
  if ((name === "critic_lr" || name === "value_clip") && !rule.critic) return "no_critic";
  if (name === "value_clip" && isFresh(set)) return "values_same";
  if (name === "offset" && !rule.critic && set.advantage !== "plain_reward") return "cancels";
  const ramp = set["length_penalty.max_length"] - set["length_penalty.cache"];
  if (of === "length_penalty" && ramp >= task.max_response) return "never_long";
  if (name === "sharing" && set.sharing === "prompts" && task.asked.length < 2)
    return "one_prompt";
  if (dial === "turn_gamma" && !task.world_at.some(Boolean)) return "one_turn";
}
