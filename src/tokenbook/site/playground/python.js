// The setting of one side as a call of the package's `train`.

function asPython(set, row, task, iterations) {
  const changes = changesOf(settingOf(set, row).row, row);
  const noise = Object.entries({ noise: set.noise, offset: set.offset }).filter(([, x]) => x);
  const policy = ["task"];
  if (set.sharing !== "nothing") policy.push(`sharing=${literal(set.sharing)}`);
  if (ADVANTAGE[set.advantage].critic)
    policy.push(`critic=${literal(+criticScale(set).toPrecision(6))}`);
  const dials = given({
    steps: iterations, prompts: set.prompts, group_size: set.group_size, epochs: set.epochs,
    minibatches: set.minibatches, optimizer: set.optimizer, lr: set.lr,
    max_grad_norm: set.max_norm || NO_LIMIT, temperature: set.temperature,
    refresh: set.refresh,
  }, { epochs: 1, minibatches: 1, optimizer: "adam", temperature: 1, refresh: 1 });

  const base = `ENUMERABLE[${literal(task)}]`, old = `ALGORITHMS[${literal(set.algorithm)}]`;
  const heat = set.temperature === 1 ? "" : `temperature=${set.temperature}`;
  const body = [
    `task = ${noise.length ? `replace(${[base, ...noise.map(keyword)].join(", ")})` : base}`,
    changes.length ? block("algorithm = replace(", [old, ...changes]) : `algorithm = ${old}`,
    `policy = PrefixPolicy(${policy.join(", ")})`,
    block("dials = Dials(", dials),
    "train(policy, task, algorithm, dials=dials, seed=0)",
    `print(policy.worth(${heat}))`,
  ].join("\n");
  return `${importsOf(body)}\n\n${body}\n`;
}

// The changes of a setting in its algorithm, as keywords.
function changesOf(own, row) {
  const changes = [];
  const text = (field, part) => JSON.stringify(Object.entries(full(field, part)).sort());
  for (const [field, value] of Object.entries(own)) {
    if ((field === "kl_estimator" || field === "kl_in") && !own.kl_coef) continue;
    const was = row[field], parts = field in PARTS && value && was;
    const same = parts ? text(field, value) === text(field, was) : value === was;
    if (!same) changes.push(keyword([field, value]));
  }
  return changes;
}

const keyword = ([name, value]) => `${name}=${literal(value)}`;
const given = (values, usual) =>
  Object.entries(values).filter(([name, value]) => value !== usual[name]).map(keyword);
const block = (head, lines) => [head, ...lines.map((line) => `    ${line},`), ")"].join("\n");

function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `(${value.map(literal).join(", ")})`;
  if (typeof value === "number")
    return value >= 1e6 ? value.toExponential().replace("+", "") : String(value);
  if (typeof value === "string") return JSON.stringify(value);
  const { f, ...dials } = value, keywords = Object.entries(dials).map(keyword);
  return keywords.length ? `partial(${[f, ...keywords].join(", ")})` : f;
}

// The imports of the names in the code, in isort's order.
function importsOf(body) {
  const names = ["ALGORITHMS", "Dials", "train"];
  for (const parts of Object.values(PARTS))
    for (const f of Object.keys(parts)) if (RegExp(`\\b${f}\\b`).test(body)) names.push(f);
  const kind = (name) => (name === name.toUpperCase() ? 0 : /^[A-Z]/.test(name) ? 1 : 2);
  const order = (a, b) => kind(a) - kind(b) || (a < b ? -1 : 1);
  const own = names.filter((name) => name !== "plain_reward").sort(order).join(", ");
  const lines = [`from tokencredit import ${own}`];
  if (body.includes("plain_reward"))
    lines.push("from tokencredit.credit.advantages import plain_reward");
  lines.push("from tokencredit.world.enumerable import ENUMERABLE, PrefixPolicy");
  const standard = [];
  if (body.includes("replace(")) standard.push("from dataclasses import replace");
  if (body.includes("partial(")) standard.push("from functools import partial");
  return [...standard, ...(standard.length ? [""] : []), ...lines].join("\n");
}
