/* Read my configuration: config.py once more, for the browser. `configReader(data)`, of
   what `tokenbook.symptoms.config.bundle` returns, gives `report(text, lang, processes)`: plain
   data, the same as Python's. Values that depend on what was not read are Unknowns. */
function configReader(data) {
  "use strict";
  const OPENS = "([{", CLOSES = ")]}", LONGEST = 200000;
  const STAGES = ["advantage", "clip_rule", "credit_level", "log_ratio", "loss"];
  const WORD = /^[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+=[^]*$/;
  const YAML_LINE = /^[ \t]*(#.*|-([ \t].*)?|[\w."'-]+ *:([ \t].*)?|---)?$/;
  const YAML_REST = /^(.*[:-][ \t]+)?[&*!|>%@`].*$/;
  class Problem extends Error {
    constructor(kind, parts = {}) { super(kind); Object.assign(this, { kind, parts }); }
  }
  class Unknown {
    constructor(names) { this.names = [...new Set(names)].sort(); }
  }
  const own = (o, name) => Object.prototype.hasOwnProperty.call(o, name);
  const blank = (o = {}) => Object.assign(Object.create(null), o);
  const isNumber = (x) => typeof x === "number";
  const lineOf = (text, at) => text.slice(0, at).split("\n").length;
  const clean = (x) => (x === Infinity || x === -Infinity ? "inf" : x);
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  const lcm = (a, b) => (a / gcd(a, b)) * b;
  const libraries = data.libraries, words = data.words;
  const names = blank(), groups = blank();
  for (const [key, table] of Object.entries(libraries)) {
    names[key] = new Set([...Object.keys(table.at), ...table.names]);
    groups[key] = table.names.filter((x) => x.endsWith("*")).map((x) => x.slice(0, -1));
  }
  const pairs = new Set(Object.values(libraries).flatMap((table) =>
    Object.keys(table.at).filter((at) => (table.pairs || []).includes(table.at[at]))));

  // ---- expressions: nested lists, made by Python ----
  const both = (values) => {
    const unknown = values.filter((x) => x instanceof Unknown);
    return unknown.length ? new Unknown(unknown.flatMap((x) => x.names)) : null;
  };
  const same = (a, b) => a === b;
  const fixed = (x) => clean(Math.round(x * 1e12) / 1e12);
  function freshUpdates(every, accumulated) {
    let fresh = 0;
    for (let update = 0; update < lcm(every, accumulated) / accumulated; update += 1) {
      let whole = true;
      for (let step = update * accumulated; whole && step < (update + 1) * accumulated; step += 1) {
        const sampled = Math.floor(step / every) * every;
        whole = Math.floor(sampled / accumulated) === update;
      }
      if (whole || accumulated % every === 0) fresh += 1;
    }
    return fresh;
  }
  const COMPARE = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };
  const COUNT = {
    "+": (a, b) => fixed(a + b), "-": (a, b) => fixed(a - b), "*": (a, b) => clean(a * b),
    "/": (a, b) => (b ? a / b : null), "//": (a, b) => (b ? Math.floor(a / b) : null),
    "%": (a, b) => (b ? a - b * Math.floor(a / b) : null),
  };
  const CALLS = {
    not: (a) => !a, neg: (a) => -a || 0,
    "==": same, is: same, "!=": (a, b) => !same(a, b), "is not": (a, b) => !same(a, b),
    in: (a, b) => b.includes(a), "not in": (a, b) => !b.includes(a),
    first: (a) => (Array.isArray(a) ? a[0] : a), last: (a) => (Array.isArray(a) ? a[a.length - 1] : a),
    fresh_updates: freshUpdates, all_updates: (a, b) => lcm(a, b) / b,
  };
  function apply(name, a, b) {
    if (CALLS[name]) return CALLS[name](a, b);
    if (name === "+" && typeof a === "string" && typeof b === "string") return a + b;
    const numbers = isNumber(a) && isNumber(b);
    if (COMPARE[name]) return numbers && COMPARE[name](a, b);
    return numbers ? COUNT[name](a, b) : null;
  }
  function evaluate(node, values, given) {
    const [kind, ...parts] = node;
    if (kind === "value") return parts[0];
    if (kind === "name") return values[parts[0]];
    if (kind === "call" && parts[0] === "given") return given.has(parts[1][1]);
    if (kind === "if") {
      const test = evaluate(parts[0], values, given);
      return test instanceof Unknown ? test : evaluate(parts[test ? 1 : 2], values, given);
    }
    if (kind === "and" || kind === "or") {
      const seen = [];
      for (const part of parts) {
        const value = evaluate(part, values, given);
        if (!(value instanceof Unknown) && Boolean(value) === (kind === "or")) return kind === "or";
        seen.push(value);
      }
      return both(seen) || kind === "and";
    }
    const name = kind === "call" ? parts.shift() : kind;
    const found = parts.map((part) => evaluate(part, values, given));
    return both(found) || apply(name, ...found);
  }

  // ---- readers ----
  const setting = () => ({ library: "", given: new Map(), computed: new Map(), spread: [], processes: null, calls: 1 });
  const plainCode = (text) => text.replace(
    /'''[^]*?(?:'''|$)|"""[^]*?(?:"""|$)|'(?:\\[^\n]|[^'\\\n])*'?|"(?:\\[^\n]|[^"\\\n])*"?|#[^\n]*/g,
    (found) => found.replace(/[^\n]/g, " "));

  function read(raw) {
    const text = raw.replaceAll("\ufeff", "").replaceAll("\r\n", "\n");
    if (!text.trim()) throw new Problem("empty");
    if ([...text].length > LONGEST) throw new Problem("long", { count: [...text].length, most: LONGEST });
    const calls = [...plainCode(text).matchAll(/\b(\w+Config)[ \t\n]*\(/g)];
    const mine = calls.filter((call) => call[1] === "GRPOConfig");
    if (mine.length) {
      const one = readCall(text, mine[0].index + mine[0][0].length - 1);
      return Object.assign(one, { calls: mine.length, library: "trl" });
    }
    let one;
    if (text.trimStart()[0] === "{") one = readBraces(text);
    else if (text.split("\n").every((line) => YAML_LINE.test(line))) one = readYaml(text);
    else one = readWords(text);
    one.library = libraryOf([...one.given.keys(), ...one.computed.keys()]);
    if (one.library) return one;
    if (calls.length) throw new Problem("trainer", { name: calls[0][1] });
    throw new Problem("unknown");
  }
  function partner(text, start) {
    const code = plainCode(text), stack = [];
    for (let at = start; at < code.length; at += 1) {
      if (OPENS.includes(code[at])) stack.push(at);
      else if (CLOSES.includes(code[at])) {
        if (OPENS.indexOf(code[stack[stack.length - 1]]) !== CLOSES.indexOf(code[at])) break;
        if (stack.length === 1) return at;
        stack.pop();
      }
    }
    const at = stack[stack.length - 1];
    throw new Problem("brackets", { name: code[at], line: lineOf(text, at) });
  }

  // Tokens of Python: enough to tell a literal from a computed value.
  const TOKEN = /[ \t\n]+|\\\n|#[^\n]*|([A-Za-z]{0,2})('''[^]*?'''|"""[^]*?"""|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*")|(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)|([A-Za-z_\u00c0-\u024f\u0370-\u04ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][\w\u00c0-\u024f\u0370-\u04ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*)|(\*\*|\/\/|[<>=!:]=|->|<<|>>|[-+*\/%()[\]{}.,:=<>&|^~@])/y;
  function tokens(text, first) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex, m = TOKEN.exec(text);
      if (!m) throw new Problem("syntax", { line: first + lineOf(text, at) - 1 });
      const token = { at, end: at + m[0].length, text: m[0] };
      if (/^0[0-9_]*[1-9][0-9_]*$/.test(m[3] || "")) throw new Problem("syntax", { line: first + lineOf(text, at) - 1 });
      if (m[2]) Object.assign(token, { kind: "string", prefix: m[1].toLowerCase(), body: m[2] });
      else if (m[3]) token.kind = "number";
      else if (m[4]) token.kind = "name";
      else if (m[5]) token.kind = "sign";
      if (token.kind) found.push(token);
    }
    return found;
  }
  const ESCAPES = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"', "\n": "", a: "\x07", b: "\b", f: "\f", v: "\v", 0: "\0" };
  const stringOf = ({ prefix, body }) => {
    const quote = /^('''|""")/.test(body) ? 3 : 1, inner = body.slice(quote, -quote);
    return prefix === "r" ? inner : inner.replace(/\\([^])/g, (all, x) => (own(ESCAPES, x) ? ESCAPES[x] : all));
  };
  const NONE = {}; // is no literal
  const CONSTANTS = { True: true, False: false, None: null };
  // A literal that starts at token n: [value, next]; NONE if it is none.
  function literalAt(list, n) {
    const token = list[n];
    if (!token) return [NONE, n];
    if (token.kind === "string") {
      let value = "";
      for (; list[n] && list[n].kind === "string"; n += 1) {
        if (!["", "r", "u"].includes(list[n].prefix)) return [NONE, n];
        value += stringOf(list[n]);
      }
      return [value, n];
    }
    if (token.kind === "number") {
      if (/[jJ]$/.test(token.text)) return [NONE, n];
      return [clean(Number(token.text.replaceAll("_", ""))), n + 1];
    }
    if (token.kind === "name") return [own(CONSTANTS, token.text) ? CONSTANTS[token.text] : NONE, n + 1];
    if (token.text === "-" || token.text === "+") {
      const [value, next] = literalAt(list, n + 1);
      if (!isNumber(value)) return [NONE, next];
      return [token.text === "-" ? -value || 0 : value, next];
    }
    if (token.text === "[" || token.text === "(") {
      const close = token.text === "[" ? "]" : ")", items = [];
      let comma = token.text === "[";
      n += 1;
      while (list[n] && list[n].text !== close) {
        const [value, next] = literalAt(list, n);
        if (value === NONE || !list[next]) return [NONE, next];
        items.push(value);
        n = next;
        if (list[n].text === ",") { comma = true; n += 1; } else if (list[n].text !== close) return [NONE, n];
      }
      return [comma || !items.length ? items : items[0], n + 1];
    }
    if (token.text === "{") {
      n += 1;
      while (list[n] && list[n].text !== "}") {
        const [key, colon] = literalAt(list, n);
        if (key === NONE || !list[colon] || list[colon].text !== ":") return [NONE, colon];
        const [value, next] = literalAt(list, colon + 1);
        if (value === NONE || !list[next]) return [NONE, next];
        n = next;
        if (list[n].text === ",") n += 1; else if (list[n].text !== "}") return [NONE, n];
      }
      return ["{…}", n + 1];
    }
    return [NONE, n];
  }
  const JOINS = ["if", "else", "and", "or", "not", "in", "is", "for", "lambda", "await"];
  const operand = (t) => t && (t.kind === "number" || t.kind === "string" || (t.kind === "name" && !JOINS.includes(t.text)));
  // The tokens up to a comma outside all brackets.
  function argumentsOf(list, line) {
    const found = [[]];
    let depth = 0;
    list.forEach((token, n) => {
      const next = list[n + 1];
      const strings = token.kind === "string" && next && next.kind === "string";
      if (operand(token) && operand(next) && !strings) throw new Problem("syntax", { line: line(next.at) });
      if (token.kind === "sign" && OPENS.includes(token.text)) depth += 1;
      if (token.kind === "sign" && CLOSES.includes(token.text)) depth -= 1;
      if (token.text === "," && !depth) found.push([]); else found[found.length - 1].push(token);
    });
    if (!found[found.length - 1].length) found.pop();
    return found;
  }
  const KEYWORDS = "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" ");
  // The first misplaced token of an argument; true if there is none.
  function amiss(list) {
    if (!list.length) return true;
    const named = list[0].kind === "name" && list[1] && list[1].text === "=";
    const value = list.slice(named ? 2 : /^\*\*?$/.test(list[0].text) ? 1 : 0);
    if (!value.length) return list[0];
    let depth = 0;
    for (const [n, token] of value.entries()) {
      if (token.kind !== "sign") continue;
      const next = value[n + 1], infix = next && next.kind === "sign" && !"([{-+~".includes(next.text);
      if (token.text === "." && next && next.kind !== "name") return next;
      if (infix && !CLOSES.includes(token.text) && !CLOSES.includes(next.text) && !",:".includes(token.text)) return next;
      if (OPENS.includes(token.text)) depth += 1;
      else if (CLOSES.includes(token.text)) depth -= 1;
      else if (token.text === "=" && !depth) return token;
    }
    const [begin, end] = [value[0], value[value.length - 1]];
    if (begin.kind === "sign" && !"([{-+~".includes(begin.text)) return begin;
    return end.kind === "sign" && !CLOSES.includes(end.text) ? end : null;
  }
  function readCall(text, start) {
    const inner = text.slice(start + 1, partner(text, start)), one = setting();
    const first = lineOf(text, start), line = (at) => first + lineOf(inner, at) - 1;
    const said = (list) => {
      let [a, b] = [0, list.length - 1];
      const wrapped = () => {
        if (list[a].text !== "(" || list[b].text !== ")" || b - a < 2) return false;
        let depth = 0;
        for (let n = a; n <= b; n += 1) {
          if (OPENS.includes(list[n].text)) depth += 1;
          if (CLOSES.includes(list[n].text)) depth -= 1;
          if ((!depth && n < b) || (depth === 1 && list[n].text === ",")) return false;
        }
        return true;
      };
      while (wrapped()) { a += 1; b -= 1; }
      return inner.slice(list[a].at, list[b].end).trim().split(/[ \t\n\r\f\v]+/).join(" ");
    };
    for (const list of argumentsOf(tokens(inner, first), line)) {
      const wrong = amiss(list);
      if (wrong) throw new Problem("syntax", { line: wrong === true ? first : line(wrong.at) });
      if (list[0].text === "**" && list.length > 1) { one.spread.push("**" + said(list.slice(1))); continue; }
      const [name, equals, ...value] = list;
      if (KEYWORDS.includes(name.text) && equals && equals.text === "=") throw new Problem("syntax", { line: line(name.at) });
      if (!equals || equals.text !== "=" || name.kind !== "name") {
        if (one.given.size + one.computed.size) throw new Problem("syntax", { line: line(name.at) });
        continue;
      }
      if (!value.length || one.given.has(name.text) || one.computed.has(name.text)) {
        throw new Problem("syntax", { line: line(name.at) });
      }
      const [found, next] = literalAt(value, 0);
      if (found === NONE || next < value.length) one.computed.set(name.text, said(value));
      else one.given.set(name.text, found);
    }
    return one;
  }

  const leavesOf = (found, path, put) => {
    if (found === null || typeof found !== "object" || Array.isArray(found)) return put(path, found);
    for (const [name, value] of Object.entries(found)) leavesOf(value, path ? `${path}.${name}` : name, put);
    return null;
  };
  const literal = (value) => {
    if (Array.isArray(value)) return value.map(literal);
    return value !== null && typeof value === "object" ? "{…}" : clean(value);
  };
  function readBraces(text) {
    const start = text.indexOf("{"), end = partner(text, start), one = setting();
    if (text.slice(end + 1).trim()) throw new Problem("syntax", { line: lineOf(text, end) });
    const body = text.slice(start, end + 1);
    const put = (name, value) => one.given.set(name, literal(value));
    let found;
    try { found = JSON.parse(body); } catch (error) {
      found = dictAt(tokens(body, lineOf(text, start)), 0)[0];
      if (found === NONE) throw new Problem("syntax", { line: lineOf(text, start) + jsonLine(body) - 1 });
    }
    leavesOf(found, "", put);
    return one;
  }
  // A dict as Python writes it, of which the values are kept.
  function dictAt(list, n) {
    if (!list[n] || list[n].text !== "{") return literalAt(list, n);
    const found = blank();
    n += 1;
    while (list[n] && list[n].text !== "}") {
      const [key, colon] = literalAt(list, n);
      if (key === NONE || !list[colon] || list[colon].text !== ":") return [NONE, colon];
      const [value, next] = dictAt(list, colon + 1);
      if (value === NONE || !list[next]) return [NONE, next];
      found[key] = value;
      n = next;
      if (list[n].text === ",") n += 1; else if (list[n].text !== "}") return [NONE, n];
    }
    return [found, n + 1];
  }
  // The line up to which a text is the beginning of JSON.
  function jsonLine(body) {
    const part = /[ \t\n\r]*(?:"(?:\\[^]|[^"\\\n])*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])/y;
    let last = "", at = 0;
    while (part.lastIndex < body.length) {
      at = part.lastIndex;
      const found = part.exec(body);
      if (!found) break;
      const sign = found[0].trim();
      const value = !"{}[],:".includes(sign);
      at = part.lastIndex - sign.length;
      if (value && last && !"{[,:".includes(last)) break;
      last = value ? "v" : sign;
    }
    return lineOf(body, at + /^[ \t\n\r]*/.exec(body.slice(at))[0].length);
  }

  // ---- YAML: maps by indentation, lists, what stands in one line ----
  function readYaml(text) {
    const one = setting(), rows = [];
    const wrong = (line) => { throw new Problem("syntax", { line }); };
    text.split("\n").forEach((line, n) => {
      if (YAML_REST.test(line.split(" #")[0])) wrong(n + 1);
    });
    text.split("\n").forEach((raw, n) => {
      const line = withoutComment(raw);
      if (!line.trim() || (line.trim() === "---" && !rows.length)) return;
      if (line.trim() === "---" || /^ *\t/.test(line)) wrong(n + 1);
      rows.push({ indent: /^ */.exec(line)[0].length, text: line.trim(), line: n + 1 });
    });
    let n = 0;
    function block(indent, path) {
      const list = rows[n].text[0] === "-" && /^-( |$)/.test(rows[n].text);
      const items = [];
      while (n < rows.length && rows[n].indent === indent) {
        const row = rows[n];
        const dash = /^-( |$)/.test(row.text);
        if (dash !== list) { if (list) break; wrong(row.line); }
        if (list) { items.push(item(row)); continue; }
        const found = /^("[^"]*"|'[^']*'|[\w.-][\w."'-]*) *:(?:[ \t]+(.*))?$/.exec(row.text);
        if (!found) wrong(row.line);
        const name = found[1].replace(/^["']|["']$/g, ""), full = path ? `${path}.${name}` : name;
        const value = (found[2] || "").trim();
        n += 1;
        const next = rows[n];
        if (value) {
          if (next && next.indent > indent) wrong(next.line);
          put(one, full, flow(value, row.line));
        } else if (next && (next.indent > indent || (next.indent === indent && /^-( |$)/.test(next.text)))) {
          const under = block(next.indent, full);
          if (under) put(one, full, under);
        } else put(one, full, "");
      }
      if (n < rows.length && rows[n].indent > indent) wrong(rows[n].line);
      return list ? items : null;
    }
    function item(row) {
      n += 1;
      const rest = row.text.slice(1).trim();
      const deep = n < rows.length && rows[n].indent > row.indent;
      while (n < rows.length && rows[n].indent > row.indent) n += 1;
      return deep || /^[\w."'-]+ *:([ \t]|$)/.test(rest) || /^-( |$)/.test(rest) ? {} : flow(rest, row.line);
    }
    // A scalar, or a list or a map in one line.
    function flow(value, line) {
      if (!/^[[{]/.test(value)) {
        if (/^["']/.test(value)) { if (!/^("(?:\\.|[^"\\])*"|'(?:''|[^'])*')$/.test(value)) wrong(line); return unquoted(value); }
        if (/:([ \t]|$)/.test(value)) wrong(line);
        return value;
      }
      const parts = value.match(/"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[[\]{},]|:(?=[ \t])|[^[\]{},:]+|:/g) || [];
      let at = 0;
      const skip = () => { while (at < parts.length && !parts[at].trim()) at += 1; };
      const one_ = () => {
        skip();
        if (parts[at] === "[") {
          const found = [];
          at += 1;
          for (skip(); at < parts.length && parts[at] !== "]"; skip()) {
            found.push(one_());
            skip();
            if (parts[at] === ",") at += 1; else if (parts[at] !== "]") wrong(line);
          }
          if (parts[at] !== "]") wrong(line);
          at += 1;
          return found;
        }
        if (parts[at] === "{") {
          const found = blank();
          at += 1;
          for (skip(); at < parts.length && parts[at] !== "}"; skip()) {
            const key = unquoted(parts[at].trim());
            at += 1;
            skip();
            if (parts[at] !== ":") wrong(line);
            at += 1;
            found[key] = one_();
            skip();
            if (parts[at] === ",") at += 1; else if (parts[at] !== "}") wrong(line);
          }
          if (parts[at] !== "}") wrong(line);
          at += 1;
          return found;
        }
        let text_ = "";
        while (at < parts.length && !/^[[\]{},]$/.test(parts[at]) && !(parts[at] === ":" && /^[ \t]/.test(parts[at + 1] || ""))) { text_ += parts[at]; at += 1; }
        return unquoted(text_.trim());
      };
      const found = one_();
      skip();
      if (at < parts.length) wrong(line);
      return found;
    }
    if (!rows.length) throw new Problem("unknown");
    const top = block(rows[0].indent, "");
    if (n < rows.length) wrong(rows[n].line);
    if (top) throw new Problem("unknown");
    return one;
  }
  const unquoted = (text) => {
    if (/^"[^]*"$/.test(text) && text.length > 1) return text.slice(1, -1).replace(/\\(.)/g, (all, x) => (own(ESCAPES, x) ? ESCAPES[x] : x));
    if (/^'[^]*'$/.test(text) && text.length > 1) return text.slice(1, -1).replaceAll("''", "'");
    return text;
  };
  function withoutComment(line) {
    let quote = "";
    for (let at = 0; at < line.length; at += 1) {
      if (quote) { if (line[at] === quote) quote = ""; }
      else if (`"'`.includes(line[at]) && /(^|[ \t:[{,-])$/.test(line.slice(0, at))) quote = line[at];
      else if (line[at] === "#" && (!at || /[ \t]/.test(line[at - 1]))) return line.slice(0, at);
    }
    return line;
  }

  // ---- shell ----
  function put(one, name, value) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [key, part] of Object.entries(value)) put(one, `${name}.${key}`, part);
      return;
    }
    if (typeof value === "string" && /[$`]/.test(value)) {
      one.computed.set(name, value);
      one.given.delete(name);
      return;
    }
    one.given.set(name, Array.isArray(value) ? value.map(plain) : plain(value));
    one.computed.delete(name);
  }
  function plain(raw) {
    if (typeof raw !== "string") return "{…}";
    let text = raw.trim();
    if (text.length > 1 && text[0] === text[text.length - 1] && `'"`.includes(text[0])) text = text.slice(1, -1);
    const known = { true: true, false: false, null: null, "~": null };
    if (!text) return null;
    if (own(known, text.toLowerCase())) return known[text.toLowerCase()];
    if (/^[+-]?[0-9]+(_[0-9]+)*$/.test(text)) return Number(text.replaceAll("_", "")) || 0;
    if (/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(text)) return clean(Number(text)) || 0;
    return text;
  }
  function wordsOf(line) {
    const found = [];
    const whole = /(?:'[^']*'?|"(?:\\[^]|[^"\\])*"?|\\[^]|\$\([^)]{0,99}\)+|\$\{[^}]{0,99}\}|[^\s'"\\])+/g;
    for (const [word] of line.matchAll(whole)) {
      if (word[0] === "#") break;
      found.push(word.replace(/'([^']*)'?|"((?:\\[^]|[^"\\])*)"?|\\([^])/g, (_, a, b, c) => a || b || c || ""));
    }
    return found;
  }
  function readWords(text) {
    const one = setting(), variables = blank();
    const fill = (word) => word.replace(/\$(?:\{(\w+)\}|(\w+))/g, (all, a, b) => {
      const value = variables[a || b];
      return value === undefined || value.includes("$") || value.length > 200 ? all : value;
    });
    for (const line of text.replaceAll("\\\n", " ").split("\n")) {
      let list = wordsOf(line).map(fill);
      if (list[0] === "export" || list[0] === "!") list = list.slice(1);
      const set = list.length === 1 && /^(\w+)=([^]*)$/.exec(list[0]);
      if (set) { variables[set[1]] = set[2]; continue; }
      let flag = "";
      list.forEach((word, at) => {
        const equals = word.indexOf("=");
        if (/^--[A-Za-z]/.test(word)) {
          flag = word.slice(2, equals < 0 ? undefined : equals).replaceAll("-", "_");
          const next = list[at + 1];
          const bare = equals < 0 && (next === undefined || next.slice(0, 2) === "--");
          put(one, flag, equals >= 0 ? word.slice(equals + 1) : bare ? "true" : next);
          if (equals >= 0 || bare) flag = "";
        } else if (WORD.test(word)) {
          put(one, word.slice(0, equals).replace(/^[+~]+/, ""), word.slice(equals + 1));
          flag = "";
        } else if (pairs.has(flag) && list[at - 1].slice(0, 2) !== "--") {
          one.given.set(flag, [one.given.has(flag) ? one.given.get(flag) : null, plain(word)]);
          flag = "";
        }
      });
    }
    for (const name of ["num_processes", "nproc_per_node"]) {
      const value = one.given.get(name);
      one.given.delete(name);
      if (isNumber(value)) one.processes = value;
    }
    return one;
  }

  // ---- names ----
  const isKnown = (library, name) => names[library].has(name) || groups[library].some((group) => name.startsWith(group));
  function libraryOf(list) {
    let best = "", most = 0;
    for (const library of Object.keys(libraries)) {
      const known = list.filter((name) => isKnown(library, name)).length;
      if (known > most) [best, most] = [library, known];
    }
    return best;
  }
  function distance(a, b) {
    const row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i += 1) {
      let before = row[0];
      row[0] = i;
      for (let j = 1; j <= b.length; j += 1) {
        const old = row[j];
        row[j] = Math.min(row[j] + 1, row[j - 1] + 1, before + (a[i - 1] === b[j - 1] ? 0 : 1));
        before = old;
      }
    }
    return row[b.length];
  }
  function nearestName(library, name) {
    let best = "", least = Math.max(2, Math.floor(name.length / 4)) + 1;
    for (const other of [...Object.keys(libraries[library].at), ...libraries[library].names]) {
      if (Math.abs(other.length - name.length) >= least || other.endsWith("*")) continue;
      const steps = distance(name, other);
      if (steps < least) [best, least] = [other, steps];
    }
    return best;
  }

  // ---- the report ----
  function shown(value) {
    if (value instanceof Unknown) return "?";
    if (value === null || value === undefined) return "None";
    if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
    if (typeof value === "boolean") return value ? "True" : "False";
    return String(value);
  }
  const filled = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => shown(parts[name]));

  function misfit(table, short, value) {
    const standard = table.fields[short];
    if (table.counts.includes(short)) {
      const fine = Number.isInteger(value) && value > 0;
      return fine || (value === null && standard === null) ? "" : "count";
    }
    if (table.numbers.includes(short)) return value === null || isNumber(value) ? "" : "number";
    if ((table.pairs || []).includes(short)) {
      const two = Array.isArray(value) && value.length === 2 && value.every(isNumber);
      return value === null || two ? "" : "pair";
    }
    if (standard === null || (table.any || []).includes(short)) return "";
    if (typeof standard === "boolean") return typeof value === "boolean" ? "" : "flag";
    if (isNumber(standard)) return isNumber(value) ? "" : "number";
    return typeof value === "string" ? "" : "text";
  }
  function interpolated(one, table) {
    const values = new Map(one.given);
    for (const [name, source] of one.computed) {
      const found = /^\$\{([\w.]+)\}$/.exec(source);
      let value = new Unknown([name]);
      if (found && one.given.has(found[1])) value = one.given.get(found[1]);
      else if (found && own(table.at, found[1])) value = table.fields[table.at[found[1]]];
      values.set(name, value);
    }
    return values;
  }
  function firstCase(cases, values, given, lang) {
    for (const one of cases) {
      const holds = evaluate(one.when, values, given);
      if (holds instanceof Unknown) return `? (${holds.names.join(", ")})`;
      if (holds) return filled(one[lang], values);
    }
    return "";
  }
  function reported(one, lang, asked) {
    const table = libraries[one.library], values = blank(table.fields), given = new Set();
    const titles = { library: table.name, version: table.version };
    const notes = [];
    const note = (key, parts = {}) => notes.push(filled(words.notes[key][lang], { ...titles, ...parts }));
    const found = interpolated(one, table);
    let aside = 0;
    for (const [name, value] of found) {
      if (own(table.at, name)) {
        const short = table.at[name];
        given.add(short);
        const kind = value instanceof Unknown ? "" : misfit(table, short, value);
        if (kind) throw new Problem("value", { name, value: shown(value), kind });
        values[short] = value;
      } else if (isKnown(one.library, name)) aside += 1;
      else {
        const near = nearestName(one.library, name);
        note("unknown-field", { name, nearest: near && filled(words.notes.nearest[lang], { name: near }) });
      }
    }
    for (const [name, value] of one.computed) if (own(table.at, name)) note("computed", { name, value });
    for (const value of one.spread) note("spread", { value });
    if (one.calls > 1) note("several", { count: one.calls });
    const processes = asked || one.processes;
    if (one.library === "trl" && !processes) note("processes");
    if (!given.size) note("none-set");
    if (aside) note("aside", { count: aside });
    Object.assign(values, { processes: processes || 1, version: table.version });
    const seen = {};
    for (const [name, value] of found) if (!(value instanceof Unknown)) Object.defineProperty(seen, name, { value, enumerable: true });
    const out = { ...titles, key: one.library, read: seen, notes, refused: null };
    for (const step of table.steps) {
      if (own(step, "refuse")) {
        if (evaluate(step.when, values, given) === true) return { ...out, refused: filled(step.refuse[lang], values) };
        continue;
      }
      const [[name, said]] = Object.entries(step);
      values[name] = evaluate(said, values, given);
    }
    const traps = [];
    for (const trap of table.traps) {
      const holds = evaluate(trap.when, values, given);
      let text = filled(trap[lang], values);
      if (holds instanceof Unknown) text = filled(words.notes.open[lang], { names: holds.names.join(", "), text });
      if (holds) traps.push({ id: trap.id, text, chapter: trap.chapter });
    }
    const row = {};
    for (const [part, said] of Object.entries(table.row)) row[part] = evaluate(said, values, given);
    const sizes = {};
    for (const name of table.sizes) sizes[name] = values[name] instanceof Unknown ? null : values[name];
    return {
      ...out, sizes, sizes_text: filled(words.labels.sizes[lang], values),
      ratio: firstCase(table.ratio, values, given, lang),
      denominator: firstCase(table.denominator, values, given, lang),
      nearest: nearest(row, table.apart, lang), traps,
    };
  }

  // ---- ALGORITHMS ----
  const part = (row, name) => (own(row, name) && row[name] !== undefined ? row[name] : null);
  function differences(row, entry, apart) {
    return [...new Set([...Object.keys(row), ...Object.keys(entry)])].sort().filter((name) => {
      const stage = name.split(".")[0], a = part(row, name), b = part(entry, name);
      if (a instanceof Unknown || part(row, stage) instanceof Unknown) return false;
      if (own(apart, name) || own(apart, stage) || same(a, b)) return false;
      if (stage !== name && !same(part(row, stage), part(entry, stage))) return false;
      const noKl = !(row.kl_coef instanceof Unknown) && !row.kl_coef;
      return !(["kl_estimator", "kl_in"].includes(name) && (noKl || !entry.kl_coef));
    });
  }
  function weigh(name, row, entry) {
    if (name === "advantage.eps") return 0;
    if (STAGES.includes(name)) return 6;
    const a = part(row, name), b = part(entry, name);
    const dial = isNumber(a) || isNumber(b) || name === "refill";
    return (name === "kl_coef" && !(a && b)) || !dial ? 2 : 1;
  }
  function saidOf(row, name) {
    const value = part(row, name);
    if (value === null) return "–";
    const dials = Object.entries(row).filter(([other, x]) => other.startsWith(`${name}.`) && x !== null)
      .map(([other, x]) => `${other.slice(other.indexOf(".") + 1)}=${shown(x)}`);
    return shown(value) + (dials.length ? `(${dials.join(", ")})` : "");
  }
  function nearest(row, apart, lang) {
    let best = null, also = [];
    for (const [name, entry] of Object.entries(data.zoo)) {
      const differs = differences(row, entry, apart);
      const weight = differs.reduce((sum, one) => sum + weigh(one, row, entry), 0);
      if (!best || weight < best.weight) [best, also] = [{ weight, name, differs, entry }, []];
      else if (weight === best.weight) also.push(name);
    }
    return {
      name: best.name, also,
      differs: best.differs.map((field) => ({ field, zoo: saidOf(best.entry, field), yours: saidOf(row, field) })),
      apart: Object.entries(apart).map(([field, text]) => ({ field, text: text[lang] })),
      open: Object.keys(row).filter((name) => row[name] instanceof Unknown).sort(),
    };
  }

  return function report(text, lang, processes) {
    try { return reported(read(text), lang, processes); } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const parts = { ...error.parts };
      if (error.kind === "value") parts.kind = words.kinds[parts.kind][lang];
      return { problem: error.kind, text: filled(words.problems[error.kind][lang], parts) };
    }
  };
}
