// Exercises are done in the page: an editor under each, checks that run in the browser,
// answers that stay in it, and the homework's own notebook to hand in. DATA is written by
// page.py: words, the hash of every exercise by page, where Python lies ("" where the book
// was built without it).
"use strict";
(() => {
  const SECONDS = 5; // an answer may take
  const ROOM = 2 ** 29; // bytes of memory with which Python goes on
  const PAUSE = 300; // ms without a key, and an answer is kept
  const OPEN = ["stub", "absent", "file", "old", "broken", "nopython", "earlier"]; // say nothing of the answer
  const all = (what, from = document) => [...from.querySelectorAll(what)];
  const page = document.body.dataset.page;
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const hashes = DATA.exercises[page] ?? {};
  const recall = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const remember = (key, value) => {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(value));
      return true;
    } catch { return false; } // storage is off or full
  };
  const say = (key, more = {}) => DATA.words[key].replace(/\{(\w+)\}/g, (_, name) => more[name] ?? "");
  const make = (tag, name, text = "") => {
    const element = document.createElement(tag);
    element.className = name;
    text.split("`").forEach((part, i) => { // code is between backticks
      if (!(i % 2)) return element.append(part);
      const code = document.createElement("code");
      code.textContent = part;
      element.append(code);
    });
    return element;
  };
  const raw = (tag, name, text) => {
    const element = make(tag, name);
    element.textContent = text;
    return element;
  };

  // ---- answers: one for all editions, told to every tab ---------------------------------

  const keyOf = (id, on = page) => `practice ${on} ${id}`;
  const passes = (id, on = page) => {
    const kept = recall(keyOf(id, on));
    return Boolean(kept?.ok) && kept.ok === DATA.exercises[on]?.[id];
  };
  let settled = false; // every exercise of the page has been read
  const count = (on) => Object.keys(DATA.exercises[on]).filter((id) => passes(id, on)).length;

  // The contents and the start page's map say how many exercises of a chapter pass here.
  const tally = () => {
    if (!settled) return;
    for (const link of all("a[data-page]")) {
      const known = DATA.exercises[link.dataset.page];
      const done = known ? count(link.dataset.page) : 0;
      if (!done) { delete link.dataset.practice; continue; }
      link.dataset.practice = `${done}/${Object.keys(known).length}`; // the style shows it
    }
    for (const place of all(".practice-tally"))
      place.textContent = say("tally", { passed: count(page), all: Object.keys(hashes).length });
    dispatchEvent(new Event("practice"));
  };

  // ---- colours of the code: a layer under the text, which itself is not touched ----------

  const TOKENS = /(#[^\n]*)|((?:\b[rbfRBF]{1,2})?(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b)|(\b\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?\b)/g;
  const KINDS = [, "c1", "s2", "k", "mf"]; // the classes that the book's code has, too
  const coloured = (text) => {
    const parts = [];
    let at = 0;
    for (const found of text.matchAll(TOKENS)) {
      const kind = KINDS[found.findIndex((part, i) => i && part !== undefined)];
      parts.push(text.slice(at, found.index), raw("span", kind, found[0]));
      at = found.index + found[0].length;
    }
    return [...parts, text.slice(at) + "\n"];
  };

  // ---- the editor: a plain text field, so that every keyboard, voice and hand can use it --

  const put = (field, text) => { // through the browser, which keeps its undo
    if (!document.execCommand(text ? "insertText" : "delete", false, text))
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  };
  const indented = (line) => { // where the line after this one begins
    const own = /^ */.exec(line)[0];
    if (/:\s*(#.*)?$/.test(line)) return own + "    ";
    return /^\s*(return|raise|pass|break|continue)\b/.test(line) ? own.slice(4) : own;
  };
  const editor = (field, changed, check) => {
    const under = field.previousElementSibling;
    let typing = false, last = null; // Tab leaves the field until something is typed, and after Esc
    const show = () => {
      if (field.value === last) return;
      last = field.value;
      under.replaceChildren(...coloured(last));
    };
    field.addEventListener("focus", () => (typing = false));
    field.addEventListener("input", () => { show(); changed(); });
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return; // an input method has it
      const { key } = event, { selectionStart: a, selectionEnd: b, value } = field;
      const control = event.ctrlKey || event.metaKey, from = value.lastIndexOf("\n", a - 1) + 1;
      if (key === "Escape") typing = false;
      else if (key === "Enter" && control) { event.preventDefault(); check(); }
      else if (key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        put(field, "\n" + indented(value.slice(from, a)));
        typing = true;
      } else if (key === "Tab" && typing && !event.altKey && !control) {
        event.preventDefault();
        const to = (value + "\n").indexOf("\n", b), lines = value.slice(from, to); // whole ones
        const several = value.slice(a, b).includes("\n");
        if (!event.shiftKey && !several) return put(field, " ".repeat(4 - ((a - from) % 4)));
        const moved = event.shiftKey ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, "    ");
        if (moved === lines) return;
        field.setSelectionRange(from, to);
        put(field, moved);
        const caret = Math.max(from, a + moved.length - lines.length);
        field.setSelectionRange(several ? from : caret, several ? from + moved.length : caret);
      } else if (key === "Backspace" && a === b && /(^|\n)( {4})+$/.test(value.slice(0, a))) {
        event.preventDefault();
        field.setSelectionRange(a - 4, a);
        put(field, "");
      } else if (key.length === 1 && !control) typing = true;
    });
    show();
    return show;
  };

  // ---- Python ----------------------------------------------------------------------------

  const home = new URL(DATA.home, root);
  let worker = null, running = null, runs = 0;
  const start = () => {
    if (worker) return;
    worker = new Worker(new URL("worker.mjs", home), { type: "module" });
    worker.onerror = (event) => ended({ kind: "broken", text: event.message ?? "" });
    worker.onmessage = ({ data: told }) => {
      if ("broken" in told) return ended({ kind: "broken", text: told.broken });
      if ("loaded" in told) return running?.progress(told);
      if (!running || told.id !== running.id) return;
      if (told.running) {
        running.began();
        running.timer = setTimeout(() => ended({ kind: "timeout", stage: running.stage }), SECONDS * 1000);
      } else if ("stage" in told) running.stage = told.stage;
      else if ("result" in told) {
        clearTimeout(running.timer);
        const { done } = running;
        running = null;
        if (told.memory > ROOM) { // Python never frees its memory
          worker.terminate();
          worker = null;
          start();
        }
        done({ ...told.result, ms: told.ms });
      }
    };
  };
  const ended = (result) => {
    worker?.terminate();
    worker = null;
    clearTimeout(running?.timer);
    const done = running?.done;
    running = null;
    if (result.kind === "timeout") start(); // warm again for the next try
    done?.(result);
  };
  const run = (work, began, progress) => new Promise((done) => {
    running = { id: ++runs, done, began, progress };
    start();
    worker.postMessage({ id: runs, ...work });
  });

  let asked = null;
  const load = () => asked ??= new Promise((resolve, reject) => { // a script: it also loads from a file
    const script = document.createElement("script");
    script.src = new URL(`_static/practice/${page.split("/").pop()}.js`, root);
    script.onload = () => resolve(window.practice);
    script.onerror = () => { asked = null; reject(new Error(script.src)); };
    document.body.append(script);
  });
  // The reason why nothing can be checked here; null if it can.
  const obstacle = () => {
    if (!DATA.python) return "nopython";
    if (location.protocol === "file:") return "file";
    return window.Worker && window.DecompressionStream ? null : "old";
  };

  // ---- an exercise -----------------------------------------------------------------------

  const boxes = new Map();

  const tell = (box, result) => {
    const out = box.querySelector(".practice-result");
    const { kind, text = "", type, lines = [], printed, cut } = result;
    const came = OPEN.includes(kind) ? "open" : kind === "passed" ? "passed" : "failed";
    box.dataset.came = came;
    const at = lines.length ? say("line", { line: lines.at(-1)[0] }) : "";
    const wide = type === "SyntaxError" && /invalid (?:character|non-printable)[^(]*\(U\+(\w+)\)/.exec(text);
    const parts = [];
    if (kind === "raised" && wide) {
      const character = String.fromCodePoint(parseInt(wide[1], 16));
      parts.push(make("p", "", say("character", { line: lines.at(-1)?.[0], text: character })));
    } else if (kind === "raised") parts.push(make("p", "", say("raised", { where: at })));
    else if (kind === "check" && /'NoneType'/.test(text)) parts.push(make("p", "", say("None")));
    else if (kind === "assert") parts.push(make("p", "practice-said", text || say("assert")));
    else if (kind === "absent" && text.startsWith("tokencredit")) parts.push(make("p", "", say("ours", { text })));
    else parts.push(make("p", "", say(kind, { text, seconds: SECONDS })));
    if (kind === "passed" && box.dataset.held) parts.push(make("p", "", say("held")));
    if (kind === "raised" || kind === "check" || (kind === "absent" && lines.length)) {
      const trace = lines.map(([n, code]) => `${String(n).padStart(3)}  ${code}`);
      if (kind !== "absent") trace.push(`${type}: ${text}`);
      parts.push(raw("pre", "", trace.join("\n")));
    }
    if (printed) {
      parts.push(make("p", "practice-more", say("printed")));
      parts.push(raw("pre", "", printed + (cut ? `\n${say("cut")}` : "")));
    }
    out.replaceChildren(...parts);
    for (const pre of all("pre", out))
      pre.tabIndex = pre.scrollHeight > pre.clientHeight || pre.scrollWidth > pre.clientWidth ? 0 : -1;
  };

  const practice = (box) => {
    const id = box.dataset.exercise, hash = hashes[id], key = keyOf(id);
    const field = box.querySelector("textarea"), check = box.querySelector(".practice-check");
    const reset = box.querySelector(".practice-reset"), state = box.querySelector(".practice-state");
    const out = box.querySelector(".practice-result");
    const begin = field.defaultValue, heading = box.closest("section").querySelector("h2, h3");
    const tick = heading.appendChild(make("span", "practice-tick"));
    let kept = recall(key), before = null, waiting = 0;
    const mine = () => field.value !== begin && field.value.trim() !== "";
    const passed = () => kept?.ok === hash && kept.t === field.value;
    const look = () => {
      tick.hidden = !passed();
      tick.textContent = passed() ? ` · ${say("done")}` : "";
      tick.title = passed() ? say("ticked") : "";
      reset.hidden = !mine() && before === null;
      reset.textContent = say(before !== null && !mine() ? "back" : "reset");
      tally();
    };
    const keep = () => {
      clearTimeout(waiting);
      waiting = 0;
      kept = mine() ? { t: field.value, h: hash, ok: kept?.t === field.value ? kept.ok : null } : null;
      if (!remember(key, kept)) state.textContent = say("unkept");
    };
    const stale = () => { // the verdict is on another text
      box.removeAttribute("data-came");
      state.textContent = "";
    };
    if (kept) {
      field.value = kept.t;
      if (kept.h !== hash) out.replaceChildren(make("p", "practice-changed", say("changed")));
    }
    const go = async () => {
      if (check.getAttribute("aria-disabled") === "true") return;
      keep();
      const done = (result) => {
        all(".practice-check").forEach((button) => button.setAttribute("aria-disabled", "false"));
        state.textContent = "";
        if (result.kind === "passed" && kept) remember(key, (kept = { ...kept, h: hash, ok: hash }));
        if (result.kind === "timeout" && result.stage !== id && boxes.has(result.stage))
          result = { kind: "earlier", text: boxes.get(result.stage).title };
        tell(box, result);
        look();
      };
      const why = obstacle();
      if (why) return done({ kind: why });
      all(".practice-check").forEach((button) => button.setAttribute("aria-disabled", "true"));
      stale();
      out.replaceChildren();
      state.textContent = say("starting");
      try {
        const { cells, asked: names } = await load();
        const answers = Object.fromEntries([...boxes].map(([name, other]) => [name, other.text()]));
        done(await run({ cells, exercise: id, answers, asked: names },
          () => (state.textContent = say("checking")),
          ({ loaded, total }) => (state.textContent = say("loading",
            { part: Math.round(100 * loaded), size: (total / 2 ** 20).toFixed(1) }))));
      } catch (error) {
        done({ kind: "broken", text: error.message });
      }
    };
    const show = editor(field, () => {
      stale();
      if (mine()) before = null;
      clearTimeout(waiting);
      waiting = setTimeout(keep, PAUSE);
      look();
    }, go);
    addEventListener("pagehide", () => waiting && keep());
    addEventListener("storage", (event) => { // the other edition, or another tab
      if (event.key !== key || document.activeElement === field) return;
      kept = recall(key);
      field.value = kept?.t ?? begin;
      show();
      stale();
      look();
    });
    reset.addEventListener("click", () => {
      const [text, kept] = mine() ? [begin, field.value] : [before, null];
      field.focus();
      field.select();
      put(field, text); // as if it were typed, so that Ctrl+Z takes it back
      field.scrollTop = 0;
      before = kept;
      show();
      keep();
      out.replaceChildren();
      stale();
      look();
    });
    check.addEventListener("click", go);
    boxes.set(id, {
      text: () => field.value,
      mine,
      title: box.dataset.title,
      set: (text) => { field.value = text; show(); keep(); stale(); look(); },
    });
    look();
  };

  // ---- the homework's notebook -------------------------------------------------------------

  const FIRST = /^#\s*exercise:\s*([\w-]+)[^\n]*\n?/;
  const download = async () => {
    const { notebook, name } = await load();
    const copy = structuredClone(notebook);
    for (const cell of copy.cells) {
      const id = cell.metadata.nbgrader?.solution && cell.metadata.nbgrader.grade_id;
      if (!id || !boxes.get(id)?.mine()) continue;
      const text = `# exercise: ${id}\n${boxes.get(id).text().replace(FIRST, "").trimEnd()}`;
      cell.source = text.split(/(?<=\n)/);
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(copy, null, 1) + "\n"], { type: "application/x-ipynb+json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const open = async (file, said) => { // answers of a notebook, by their first line
    const found = new Map();
    try {
      for (const cell of JSON.parse(await file.text()).cells) {
        const source = [cell.source].flat().join(""), id = FIRST.exec(source)?.[1];
        if (cell.cell_type !== "code" || !boxes.has(id) || /raise NotImplementedError/.test(source)) continue;
        found.set(id, source.replace(FIRST, ""));
      }
    } catch { /* no notebook */ }
    const lost = [...found].filter(([id, text]) =>
      boxes.get(id).mine() && boxes.get(id).text().trim() !== text.trim());
    if (lost.length && !confirm(say("replace", { count: lost.length }))) return;
    for (const [id, text] of found) boxes.get(id).set(text);
    said.textContent = say(found.size ? "opened" : "nothing", { count: found.size });
  };
  const handIn = (panel) => {
    const said = panel.querySelector(".practice-state"), input = panel.querySelector("input[type=file]");
    panel.querySelector(".practice-download").addEventListener("click", () =>
      download().catch(() => (said.textContent = say("unloaded"))));
    panel.querySelector(".practice-open").addEventListener("click", () => input.click());
    input.addEventListener("change", async () => {
      if (input.files[0]) await open(input.files[0], said);
      input.value = "";
    });
  };

  const exercises = all(".practice[data-exercise]");
  exercises.forEach(practice);
  if (exercises.length && obstacle() === "nopython") { // shown once
    all(".practice-check").forEach((button) => (button.hidden = true));
    tell(exercises[0], { kind: "nopython" });
  }
  all(".practice-hand-in").forEach(handIn);
  addEventListener("storage", tally);
  settled = true;
  tally();
  window.practised = { passes, say };
  if (document.querySelector(".practice-list")) { // the page of all exercises
    const script = make("script", "");
    script.src = new URL("_static/practice-list.js", root);
    document.body.append(script);
  }
})();
