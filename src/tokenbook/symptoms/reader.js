/* Read a log, as parse.py, series.py and rules.py do, line for line; runs in a worker.
   Rows are Maps, so that any key is only a key. `data` has keys and rules. */
function reader(data) {
  const MAX_ROWS = 20000, MAX_CHARS = 12e6, MAX_LINE = 20000, MAX_DICT = 60000;
  const MAX_DEPTH = 200, RETRIES = 50;
  const NUM = "[-+]?(?:\\d+\\.?\\d*(?:[eE][-+]?\\d+)?|\\.\\d+(?:[eE][-+]?\\d+)?|nan|inf(?:inity)?)";
  const re = (text, flags) => new RegExp(text.replaceAll("NUM", NUM), flags);
  const WHOLE = re("^NUM$", "i");
  const PAIR = re(`['"]([^'"\\n]{1,120})['"]\\s*:\\s*(?:np\\.float\\d+\\(|tensor\\(|array\\()?\\s*['"]?(NUM|None|null|true|false)(?![\\w.])`, "gi");
  const ANSI = /\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}\x07/g;
  const SPACES = /[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]/g;
  const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85]/g;
  const LETTER = /[A-Za-z\u4e00-\u9fff]/;
  const BEFORE = /(?:global step|step|rollout|perf|eval|train)\s+(\d+)\s*:\s*$/i;
  const VERL = /\bstep:(\d+) - /, PRIME = /\bStep\s+(\d+)\s*\|/, MLX = /^Iter\s+(\d+):/;
  const NEMO = /= Step (\d+)\//;
  const PRIME_PART = re("^([A-Z][A-Za-z.\\- ]*?)\\s+(NUM)(%?)"), MLX_PART = re("^\\s*(.+?)\\s+(NUM)(?:\\s|$)");
  const LINE = re("^(?:wandb:|[•*]|INFO\\S*)?\\s*([A-Za-z][\\w ./@+\\-]*?)\\s*(?::|=|\\s)\\s*(NUM)(?:\\s*[a-z%/]*)?$", "i");
  const INLINE = re("([A-Za-z_][\\w./]{0,80})\\s*[=:]\\s*(NUM)(?=[\\s,;\\]]|$)", "gi");
  const STEPS = new Set(data.steps);

  const decode = (bytes) => {
    const as = (name, fatal) => new TextDecoder(name, { fatal }).decode(bytes);
    if (bytes[0] === 255 && bytes[1] === 254) return as("utf-16le", false);
    if (bytes[0] === 254 && bytes[1] === 255) return as("utf-16be", false);
    for (const name of ["utf-8", "gb18030"]) try { return as(name, true); } catch { /* the next one */ }
    return as("latin1", false);
  };
  const clean = (text) => text.slice(0, MAX_CHARS).replace(ANSI, "")
    .replaceAll("\r\n", "\n").replaceAll("\r", "\n").replace(SPACES, " ").replace(CONTROL, "");
  const number = (text) => {
    text = text.trim().replace(/^['"]+|['"]+$/g, "").replace(/[%,]+$/, "");
    if (!WHOLE.test(text)) return null;
    if (/^[-+]?nan$/i.test(text)) return NaN;
    const value = Number(text.replace(/inf.*/i, "Infinity"));
    return Math.abs(value) < 1e300 ? value : value * Infinity;
  };
  const isObject = (x) => x !== null && typeof x === "object" && !Array.isArray(x);

  /* ---- JSON ---- */
  const loads = (text) => {
    let depth = 0;
    for (const found of text.matchAll(/[[\]{}]/g)) {
      depth += "[{".includes(found[0]) ? 1 : -1;
      if (depth > MAX_DEPTH) throw new SyntaxError("nested too deep");
    }
    try { return JSON.parse(text); } catch {
      return JSON.parse(text.replace(/([:[,]\s*)(-?Infinity|NaN)(?=\s*[,\]}])/g, '$1"$2"'));
    }
  };
  const flat = (value, prefix = "", out = new Map()) => {
    if (isObject(value)) for (const key of Object.keys(value)) flat(value[key], prefix ? `${prefix}/${key}` : key, out);
    else if (typeof value === "number") out.set(prefix, value);
    else if (typeof value === "string") { const one = number(value); if (one !== null) out.set(prefix, one); }
    return out;
  };
  const fromJson = (text) => {
    text = text.replace(/^[ \n\t]+/, "");
    if (!"[{".includes(text[0] || "x")) return [];
    let all;
    try { all = loads(text); } catch { return jsonLines(text.split("\n").filter((line) => line.trim())); }
    if (isObject(all)) {
      const columns = Object.entries(all);
      if (Array.isArray(all.log_history)) all = all.log_history;
      else if (columns.length && columns.every(([, one]) => Array.isArray(one))) {
        const size = Math.min(MAX_ROWS, Math.max(...columns.map(([, one]) => one.length)));
        all = Array.from({ length: size }, (_, i) => Object.fromEntries(
          columns.filter(([, one]) => i < one.length).map(([key, one]) => [key, one[i]])));
      } else all = [all];
    }
    return all.slice(0, MAX_ROWS).filter(isObject).map((one) => flat(one));
  };
  const jsonLines = (lines) => {
    const rows = [], some = lines.slice(0, 2 * MAX_ROWS);
    for (const line of some) {
      let one;
      try { one = loads(line); } catch { continue; }
      if (!isObject(one)) continue;
      const row = flat(isObject(one.data) ? one.data : one);
      if (typeof one.step === "number" && !row.has("step")) row.set("step", one.step);
      rows.push(row);
    }
    return rows.length >= Math.max(1, some.length >> 1) ? rows : [];
  };

  /* ---- tables ---- */
  const cells = (line, sep) => {
    if (sep === " ") return line.trim().split(/\s+/);
    if (sep === "|") line = line.trim().replace(/^\|+|\|+$/g, "");
    if (sep !== ",") return line.split(sep).map((one) => one.trim());
    const out = [""];
    line.split('"').forEach((part, k) => {
      if (k % 2) { out[out.length - 1] += part; return; }
      const [first, ...others] = part.split(",");
      out[out.length - 1] += first;
      out.push(...others);
    });
    return out.map((one) => one.trim());
  };
  const isHead = (head, sep, line) => {
    if (head.length < 2 || (sep === " " && (head.length < 3 || /[{:]/.test(line)))) return false;
    return head.filter((one) => number(one) === null && LETTER.test(one)).length >= head.length * 0.7;
  };
  const body = (head, lines, from, sep) => {
    const rows = [];
    let misses = 0;
    for (let i = from; i < lines.length; i++) {
      if (/^[-|: +\t]*$/.test(lines[i])) continue;
      const row = cells(lines[i], sep), values = row.map(number);
      const numbers = values.filter((value) => value !== null).length;
      if (row.length !== head.length || numbers * 2 < row.filter(Boolean).length) {
        if (++misses > (rows.length ? rows.length + 1000 : 5)) break;
        continue;
      }
      rows.push(new Map(head.map((key, k) => [key, values[k]]).filter(([, value]) => value !== null)));
      if (rows.length >= MAX_ROWS) break;
    }
    return rows.length >= (sep === " " ? 2 : 1) && misses <= rows.length ? rows : [];
  };
  const fromBoard = (rows, [, step, value], name) => {
    const key = name.replaceAll("\\", "/").split("/").pop().replace(/\.csv$/i, "").split("-tag-").pop() || "value";
    return rows.filter((row) => row.has(step) && row.has(value)).map((row) => new Map([["step", row.get(step)], [key, row.get(value)]]));
  };
  const fromTable = (text, name) => {
    const lines = text.split("\n").filter((line) => line.trim());
    for (const sep of [",", "\t", "|", " "]) for (let at = 0; at < Math.min(200, lines.length); at++) {
      const head = lines[at].length <= MAX_LINE ? cells(lines[at], sep) : [];
      if (!isHead(head, sep, lines[at])) continue;
      const rows = body(head, lines, at + 1, sep);
      if (rows.length) return head.map((one) => one.toLowerCase()).join("|") === "wall time|step|value" ? fromBoard(rows, head, name) : rows;
    }
    return [];
  };

  /* ---- consoles ---- */
  const braces = (text) => {
    const spans = [], BRACE = /[{}"'\\\n]/g;
    let depth = 0, start = 0, quote = "", again = RETRIES, found;
    while ((found = BRACE.exec(text)) && spans.length <= 2 * MAX_ROWS) {
      const sign = found[0], at = found.index + 1;
      if (depth && at - start > MAX_DICT) {
        depth = 0; quote = "";
        if (--again > 0) BRACE.lastIndex = start + 1;
      } else if (quote) {
        if (sign === "\\") BRACE.lastIndex = at + 1;
        else if (sign === quote || sign === "\n") quote = "";
      } else if ((sign === "'" || sign === '"') && depth) quote = sign;
      else if (sign === "{") { if (!depth) start = at - 1; depth++; }
      else if (sign === "}" && depth && !--depth) spans.push([start, at]);
    }
    return spans;
  };
  const pairsOf = (text) => {
    const row = new Map();
    let count = 0;
    for (const [, key, value] of text.matchAll(PAIR)) {
      const one = number(value);
      if (one !== null) row.set(key, one);
      count++;
    }
    return [row, count];
  };
  const fromConsole = (text) => {
    const rows = [], rest = [];
    let last = 0;
    for (const [start, end] of braces(text)) {
      const [row] = pairsOf(text.slice(start, end));
      const found = BEFORE.exec(text.slice(Math.max(0, start - 200), start).split("\n").pop());
      if (row.size && found && ![...row.keys()].some((key) => STEPS.has(key))) row.set("step", Number(found[1]));
      if (row.size >= 2 || (row.size && found)) { rows.push(row); rest.push(text.slice(last, start)); last = end; }
      if (rows.length > MAX_ROWS) break;
    }
    const inside = rows.length > 0, outside = [...rest, text.slice(last)].join("\n");
    if (!inside) { const [row, count] = pairsOf(outside); if (count >= 3) rows.push(row); }
    return rows.concat(fromLines(outside));
  };
  const stepLine = (line) => {
    const row = new Map();
    let found;
    if ((found = VERL.exec(line))) {
      row.set("step", Number(found[1]));
      for (const part of line.slice(found.index).split(" - ").slice(1)) {
        const at = part.lastIndexOf(":"), one = number(part.slice(at + 1));
        if (at > 0 && one !== null) row.set(part.slice(0, at).trim(), one);
      }
    } else if ((found = PRIME.exec(line))) {
      row.set("step", Number(found[1]));
      for (const part of line.slice(found.index + found[0].length).split("|")) {
        const one = PRIME_PART.exec(part.trim());
        if (one) row.set(one[1].trim(), number(one[2]) / (one[3] ? 100 : 1));
      }
    } else if ((found = MLX.exec(line))) {
      row.set("step", Number(found[1]));
      for (const part of line.slice(found[0].length).split(",")) { const one = MLX_PART.exec(part); if (one) row.set(one[1], number(one[2])); }
    }
    return row;
  };
  const fromLines = (text) => {
    const rows = [];
    let group = new Map(), found;
    for (let line of text.split("\n")) {
      if (line.length > MAX_LINE || !(line = line.replace(/\s+/g, " ").trim())) continue;
      const row = stepLine(line);
      if (row.size) { rows.push(group, row); group = new Map(); }
      else if ((found = NEMO.exec(line))) { rows.push(group); group = new Map([["step", Number(found[1])]]); }
      else if (line.length < 300 && (found = LINE.exec(line))) {
        const key = found[1].trim();
        if (group.has(key)) { rows.push(group); group = new Map(); }
        group.set(key, number(found[2]));
      } else {
        const pairs = [...line.matchAll(INLINE)].map(([, key, value]) => [key, number(value)]);
        if (pairs.length >= 3) { rows.push(group, new Map(pairs)); group = new Map(); }
        else if (pairs.length * 36 > line.length) for (const [key, value] of pairs) if (!group.has(key)) group.set(key, value);
      }
      if (rows.length > 3 * MAX_ROWS) break;
    }
    return [...rows, group].filter((row) => row.size >= 2);
  };
  const parse = (text, name = "") => {
    text = clean(text);
    const cut = (rows) => rows.slice(0, MAX_ROWS);
    let rows = fromJson(text);
    if (rows.length) return [cut(rows), "json"];
    if ((VERL.test(text) || /\{\s*['"]/.test(text)) && (rows = fromConsole(text)).length) return [cut(rows), "console"];
    if ((rows = fromTable(text, name)).length) return [rows, "table"];
    rows = cut(fromConsole(text));
    return [rows, rows.length ? "console" : "none"];
  };

  /* ---- keys ---- */
  const PREFIXES = ["train/", "eval/", "grpo/", "metrics/", "actor/"];
  const exact = new Map(), patterns = [], boards = new Map();
  let of = "", place = 0;
  for (const line of data.keys.split("\n")) {
    if (line[0] === "=") { of = line.slice(1); continue; }
    const at = line.lastIndexOf("|"), name = line.slice(0, at), found = [line.slice(at + 1), of, place++];
    const key = name.toLowerCase();
    if (key.includes("*")) patterns.push([new RegExp(`^${key.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^ ]+?")}$`), found]);
    else {
      exact.set(key, [...(exact.get(key) || []), found]);
      const board = key.replaceAll("/", "_");
      if (!boards.has(board)) boards.set(board, key);
    }
  }
  const tidied = new Map();
  const tidy = (key) => {
    if (!tidied.has(key)) {
      if (tidied.size > 1e5) tidied.clear();
      tidied.set(key, key.trim().replace(/^['"]+|['"]+$/g, "").toLowerCase().split(" - ").pop()
        .replace(/ *\/ */g, "/").replace(/__(min|max)$/, "@$1"));
    }
    return tidied.get(key);
  };
  const nameOf = (logged, library) => {
    const key = tidy(logged);
    if (/@(min|max)$/.test(key)) return null;
    const short = PREFIXES.filter((one) => key.startsWith(one)).map((one) => key.slice(one.length));
    for (const one of [key, ...short, ...(boards.has(key) ? [boards.get(key)] : [])]) {
      const found = exact.get(one);
      if (found) return found.find((row) => row[1] === library) || found[0];
      for (const [pattern, row] of patterns) if (pattern.test(one)) return row;
    }
    return null;
  };
  const libraryOf = (rows) => {
    const votes = new Map();
    for (const logged of new Set(rows.slice(0, 200).flatMap((row) => [...row.keys()]))) {
      const key = tidy(logged);
      if (key.startsWith("train/") && exact.has(key.slice(6))) continue;
      const found = exact.get(key) || [];
      if (found.length === 1 && !["any", "lab"].includes(found[0][1])) votes.set(found[0][1], (votes.get(found[0][1]) || 0) + 1);
    }
    let best = null;
    for (const [library, count] of votes) if (best === null || count > votes.get(best)) best = library;
    return best;
  };
  const isStep = (key) => STEPS.has(key) || STEPS.has(key.replaceAll("train/", ""));

  /* ---- series ---- */
  const here = (x) => x !== null && x !== undefined;
  const finite = (line) => (line || []).filter((x) => here(x) && Number.isFinite(x));
  const lowest = (xs) => xs.reduce((a, b) => (b < a ? b : a), Infinity), highest = (xs) => xs.reduce((a, b) => (b > a ? b : a), -Infinity);
  const total = (xs) => xs.reduce((a, b) => a + b, 0);
  const median = (xs) => { const ys = [...xs].sort((a, b) => a - b), k = ys.length >> 1; return ys.length % 2 ? ys[k] : (ys[k - 1] + ys[k]) / 2; };
  const noise = (xs) => (1.4826 * median(xs.slice(1).map((b, i) => Math.abs(b - xs[i])))) / Math.sqrt(2);
  const inNoise = (change, unit, xs) => {
    if (unit <= 1e-12 * Math.max(1e-300, highest(xs.map(Math.abs)))) return Math.abs(change) < 1e-12 ? 0 : change > 0 ? 99 : -99;
    return Math.max(-99, Math.min(99, change / unit));
  };
  const trend = (xs) => {
    if (xs.length < 6) return null;
    const k = Math.floor(xs.length / 3);
    return inNoise(total(xs.slice(-k)) / k - total(xs.slice(0, k)) / k, noise(xs) * Math.sqrt(2 / k), xs);
  };
  const isShare = (line) => { const xs = finite(line); return xs.length > 0 && lowest(xs) >= 0 && highest(xs) <= 1; };
  const seriesOf = (rows) => {
    const library = libraryOf(rows), n = rows.length, blank = () => Array(n).fill(null);
    const log = { lines: new Map(), names: new Map(), unknown: [], steps: blank(), library, parts: new Map(), rows: n };
    const unknown = new Set(), stds = new Map();
    rows.forEach((row, i) => {
      for (const [key, value] of row) {
        const short = tidy(key);
        if (isStep(short)) {
          if (Number.isFinite(value) && (log.steps[i] === null || short !== "_step")) log.steps[i] = value;
          continue;
        }
        const found = log.names.get(key) || (unknown.has(key) ? null : nameOf(key, library));
        if (!found) { unknown.add(key); continue; }
        log.names.set(key, found);
        let into = log.lines, name = found[0];
        if (name === "-") continue;
        if (name === "component") { into = log.parts; name = short.replaceAll("train/", "").replace(/\/mean$/, ""); }
        else if (name === "component_std") { into = stds; name = short; }
        if (short === "ref_kl") log.lines.set("kl_sum", [1]);
        if (!into.has(name)) into.set(name, blank());
        const line = into.get(name);
        if (line[i] === null || line[i] === undefined) line[i] = value;
      }
    });
    log.unknown = [...unknown];
    derive(log, stds);
    return log;
  };
  const each = (log, f, ...names) => Array.from({ length: Math.min(...names.map((name) => log.lines.get(name).length)) }, (_, i) => {
    const xs = names.map((name) => log.lines.get(name)[i]);
    return xs.every((x) => here(x) && Number.isFinite(x)) ? f(...xs) : null;
  });
  const derive = (log, stds) => {
    const { lines } = log, has = (...names) => names.every((name) => lines.has(name));
    if (has("score") && (!has("reward") || log.library === "slime")) lines.set("reward", lines.get("score"));
    if (has("equal_groups")) lines.set("equal_groups_logged", lines.get("equal_groups"));
    else { const equal = equalGroups(log); if (equal) lines.set("equal_groups", equal); }
    if (has("reward_max", "reward_min")) lines.set("reward_spread", each(log, (a, b) => a - b, "reward_max", "reward_min"));
    if (stds.size) {
      const all = [...stds.values()];
      lines.set("flat_batch", all[0].map((_, i) => {
        const xs = all.map((line) => line[i]);
        return xs.some(here) ? Number(xs.every((x) => !here(x) || x === 0)) : null;
      }));
    } else if (has("reward_std")) lines.set("flat_batch", each(log, (x) => Number(x === 0), "reward_std"));
    if (log.parts.size) {
      const [up, down, stuck] = moved(log.parts);
      lines.set("components", [log.parts.size]).set("comp_up", [up]).set("comp_down", [down]).set("stuck_component", [stuck]);
    }
    const solve = solved(log);
    if (solve) lines.set("solve", solve);
    if (has("loss", "reward", "length")) {
      const rewards = lines.get("reward").filter(here).length, losses = lines.get("loss").filter(here).length;
      if (rewards) lines.set("old_rows", [1 - rewards / Math.max(1, losses)]);
    }
  };
  const equalGroups = (log) => {
    const { lines } = log, has = (...names) => names.every((name) => lines.has(name));
    let line;
    if (has("all_wrong", "all_right")) return each(log, (a, b) => a + b, "all_wrong", "all_right");
    if (has("solve_none_count", "solve_all_count")) {
      const rest = lines.get("solve_partial_count") || Array(log.rows).fill(0);
      return each(log, (a, b) => a + b, "solve_none_count", "solve_all_count")
        .map((a, i) => (a === null || a + (rest[i] || 0) === 0 ? null : a / (a + (rest[i] || 0))));
    }
    if (has("adv_max", "adv_min")) line = each(log, (a, b) => (a === 0 && b === 0 ? 1 : null), "adv_max", "adv_min");
    else if (has("group_std")) line = lines.get("group_std").map((x) => (x === 0 ? 1 : null));
    return line && line.some(here) ? line : null;
  };
  const moved = (parts) => {
    let up = 0, down = 0, stuck = 0;
    for (const line of parts.values()) {
      const xs = finite(line), n = xs.length;
      if (n >= 6) { up += trend(xs) > 2; down += trend(xs) < -2; }
      else if (n >= 3 && Math.abs(xs[n - 1] - xs[0]) > 0.2 * highest(xs.map(Math.abs))) {
        up += xs.every((x, i) => !i || x > xs[i - 1]);
        down += xs.every((x, i) => !i || x < xs[i - 1]);
      }
      stuck += n >= 3 && lowest(xs) === highest(xs) && xs[0] !== 0 && xs[0] !== 1;
    }
    return [up, down, stuck];
  };
  const solved = (log) => {
    const { lines, parts } = log;
    if (isShare(lines.get("success"))) return lines.get("success");
    for (const [name, line] of parts) if (/acc|correct|answer|exact|solve/.test(name) && !name.includes("format") && isShare(line)) return line;
    const top = finite(lines.get("reward_max"));
    return isShare(lines.get("reward")) && (!top.length || highest(top) <= 1) ? lines.get("reward") : null;
  };

  /* ---- rules: trees in which a value may be unknown (null) ---- */
  const OPERATORS = {
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => (b ? a / b : null),
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "==": (a, b) => a === b,
  };
  const width = (xs) => Math.max(1, Math.floor(xs.length / 5));
  const head = (xs) => median(xs.slice(0, width(xs))), tail = (xs) => median(xs.slice(-width(xs)));
  const share = (xs, test) => xs.filter(test).length / xs.length;
  const smooth = (xs) => (xs.length >= 5 ? xs.slice(2).map((_, i) => median(xs.slice(i, i + 3))) : xs);
  const size = (...xs) => Math.max(...xs.map(Math.abs), 1e-12);
  const three = (f) => (xs) => (xs.length >= 3 ? f(xs) : null);
  const FUNCTIONS = {
    first: (xs) => xs[0], last: (xs) => xs[xs.length - 1], head, tail, med: median, max: highest, min: lowest,
    zeros: (xs) => share(xs, (x) => Math.abs(x) <= 1e-8),
    unit: (xs) => lowest(xs) >= 0 && highest(xs) <= 1,
    tiny: (xs, a) => share(xs, (x) => Math.abs(x) <= a),
    above: (xs, a) => share(xs, (x) => x > a),
    below: (xs, a) => share(xs, (x) => x < a),
    z: trend,
    z2: (xs) => {
      if (xs.length < 6) return null;
      const wide = Math.max(2, width(xs));
      return inNoise(total(xs.slice(-wide)) / wide - highest(smooth(xs)), noise(xs) * Math.sqrt(1 / wide + 1 / 3), xs);
    },
    jump: (xs) => {
      if (xs.length < 8) return null;
      const floor = 0.1 * median(xs);
      let best = 0;
      for (let i = 4; i < xs.length; i++) {
        const before = Math.max(median(xs.slice(Math.max(0, i - 10), i)), floor);
        if (before > 0) best = Math.max(best, xs[i] / before);
      }
      return best;
    },
    rel: three((xs) => (tail(xs) - head(xs)) / size(head(xs), tail(xs))),
    growth: three((xs) => (head(xs) > 0 && tail(xs) >= 0 ? tail(xs) / head(xs) : null)),
    late: three((xs) => {
      const half = xs.length >> 1, k = width(xs), middle = median(xs.slice(half - (k >> 1), half + ((k + 1) >> 1)));
      return (tail(xs) - middle) / size(middle, tail(xs));
    }),
    lost: three((xs) => {
      const ys = smooth(xs), peak = highest(ys);
      return (peak - tail(xs)) / Math.max(Math.abs(peak), peak - lowest(ys), 1e-12);
    }),
  };
  const call = (name, of, argument, log) => {
    const line = log.lines.get(of);
    if (name === "known") return !!line && line.some(here);
    if (name === "n") return finite(line).length;
    if (!line) return null;
    if (name === "nan") { const logged = line.filter(here); return logged.length ? logged.filter((x) => !Number.isFinite(x)).length / logged.length : null; }
    if (name === "start") { const i = line.findIndex((x, j) => here(x) && Number.isFinite(x) && j < log.steps.length); return i < 0 ? null : log.steps[i]; }
    const xs = finite(line);
    return xs.length ? FUNCTIONS[name](xs, argument) : null;
  };
  const value = (node, log, lenient = false) => {
    if (typeof node === "string") {
      if (node === "kl_is_sum") return log.lines.has("kl_sum");
      const xs = finite(log.lines.get(node));
      return xs.length ? xs[xs.length - 1] : null;
    }
    if (!Array.isArray(node)) return node;
    const [kind, ...parts] = node;
    if (!(kind in OPERATORS) && !["and", "or", "not"].includes(kind)) return call(kind, parts[0], parts.length > 1 ? value(parts[1], log) : null, log);
    if (kind === "not") { const one = value(parts[0], log, lenient); return one === null ? (lenient ? true : null) : !one; }
    if (kind === "and" || kind === "or") {
      let found = parts.map((one) => value(one, log, lenient));
      const decides = kind === "or";
      if (found.includes(decides)) return decides;
      if (decides && lenient && found.some(here)) found = found.filter(here);
      return found.includes(null) ? null : !decides;
    }
    const a = value(parts[0], log), b = value(parts[1], log);
    return a === null || b === null ? null : OPERATORS[kind](a, b);
  };
  const quantities = (node, found = new Set()) => {
    if (typeof node === "string") found.add(node);
    else if (Array.isArray(node)) node.slice(1).forEach((one) => quantities(one, found));
    return found;
  };
  const verdict = (rule, log) => {
    if (!rule.tree) return { id: rule.id, holds: null, missing: [] };
    const there = rule.needs.filter((name) => log.lines.has(name));
    if (!there.length) return { id: rule.id, holds: null, missing: rule.needs };
    if (finite(log.lines.get(there[0])).length < (rule.rows || 0)) return { id: rule.id, holds: null, missing: ["rows"] };
    let holds = value(rule.tree, log);
    if (holds === null) holds = value(rule.tree, log, true);
    const missing = holds === null ? [...quantities(rule.tree)].filter((name) => !log.lines.has(name)) : [];
    return { id: rule.id, holds, missing };
  };
  const judge = (log) => {
    const verdicts = data.rules.map((rule) => verdict(rule, log));
    const level = new Map(data.rules.map((rule) => [rule.id, rule.level]));
    const places = verdicts.filter((one) => one.holds && ["definition", "look"].includes(level.get(one.id))).map((one) => one.id).slice(0, 3);
    return { verdicts, places };
  };
  /* Files of one number each (TensorBoard) are joined by their steps. */
  const read = (files) => {
    let rows = [], kind = "none";
    const parsed = files.map(([text, name]) => parse(text, name));
    if (parsed.length > 1) {
      const byStep = new Map();
      for (const [some, one] of parsed) {
        if (kind === "none") kind = one;
        for (const row of some) {
          const step = row.get("step") ?? `row ${byStep.size}`;
          byStep.set(step, new Map([...(byStep.get(step) || []), ...row]));
        }
      }
      rows = [...byStep.values()];
    } else if (parsed.length) [rows, kind] = parsed[0];
    const log = seriesOf(rows);
    return { kind, log, ...judge(log) };
  };
  return { decode, parse, read, seriesOf, judge, finite, head, tail, quantities };
}
