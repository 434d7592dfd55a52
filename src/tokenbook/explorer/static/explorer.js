"use strict";
// Moves figures; record.py packs their states.
(() => {
  const unpack = ({ v, e, d }) => {
    let at = 0;
    const seen = [];
    const next = () => {
      for (let u = 0, m = 1; ; m *= 45) {
        let c = d.charCodeAt(at++);
        c = (c == 32 ? 60 : c == 33 ? 92 : c) - 35;
        u += (c % 45) * m;
        if (c < 45) return u & 1 ? -(u + 1) / 2 : u / 2;
      }
    };
    const series = () => {
      const first = next(), back = next();
      if (!back) {
        const mask = next(), summed = next(), steps = [];
        let size = 1;
        for (let k = v.length; k--; ) {
          steps[k] = (mask >> k) & 1 && size;
          if (steps[k]) size *= v[k].length;
        }
        const a = Int32Array.from({ length: size }, next);
        steps.forEach((step, k) => {
          if ((summed >> k) & 1)
            for (let i = step; i < size; i++)
              if (((i / step) | 0) % v[k].length) a[i] += a[i - step];
        });
        seen.push((state) => a[state.reduce((sum, x, k) => sum + x * steps[k], 0)]);
      }
      const moves = seen[seen.length - (back || 1)];
      return (state) => first + moves(state);
    };
    return e.map(([element, name, templates]) => {
      const which = templates[1] == null ? () => 0 : series();
      const all = templates.map((template) => {
        const text = template.split("¤");
        const slots = text.slice(1).map(() => [next(), series()]);
        return (state) =>
          text.reduce((done, part, i) => {
            const [decimals, value] = slots[i - 1], x = value(state) / 10 ** decimals;
            return done + (name ? x : x.toFixed(decimals).replace("-", "−")) + part;
          });
      });
      return [element, name, (state) => all[which(state)](state)];
    });
  };

  const wire = (script) => {
    const root = script.parentElement, data = (root.data = JSON.parse(script.textContent)), { k: keys, v: labels, s: state } = data;
    const all = (what) => [...root.querySelectorAll(what)];
    const marked = all("[data-m]"), inputs = all("[data-key]"), sets = all("[data-set]"), plays = all("[data-play]");
    const said = all(".ex-says > *, .ex-tile > *, .ex-label > strong, .ex-end > :not(button)"), [says] = all(".ex-says"), old = [];
    let changes, timer;
    const parse = (text) =>
      text.split(",").map((part) => {
        const [key, label] = part.trim().split("="), k = keys.indexOf(key);
        return [k, labels[k].indexOf(label)];
      });
    const put = (e, name, text) => (text ? e.setAttribute(name, text) : e.removeAttribute(name));
    const draw = () => {
      changes ||= unpack(data);
      changes.forEach(([element, name, value], i) => {
        const text = value(state);
        if (text === old[i]) return;
        old[i] = text;
        if (name) put(marked[element], name, text);
        else marked[element].textContent = text;
      });
      const words = said.map((e) => e.textContent).join(" ");
      inputs.forEach((e) => {
        const k = keys.indexOf(e.dataset.key), i = state[k], label = labels[k][i];
        if (e.type == "radio") e.checked = e.value == i;
        else if (e.type != "range") e.checked = i;
        else {
          e.value = i;
          e.style.setProperty("--p", i / e.max);
          const shown = (e.previousElementSibling.textContent = label.replace("-", "−"));
          put(e, "aria-valuetext", `${shown}; ${words}`);
        }
      });
      sets.forEach((e) => put(e, "aria-pressed", "" + parse(e.dataset.set).every(([k, i]) => state[k] == i)));
    };
    const to = (moves, fast) => {
      root.classList.toggle("fast", fast);
      if (says) says.ariaLive = fast ? "off" : "polite";
      moves.forEach(([k, i]) => (state[k] = i));
      draw();
    };
    const stop = () => {
      timer = clearInterval(timer);
      plays.forEach((e) => put(e, "aria-pressed", "false"));
    };
    root.set = (text) => (stop(), to(parse(text), false));
    root.oninput = ({ target: e }) => {
      stop();
      to([[keys.indexOf(e.dataset.key), +(e.type == "checkbox" ? e.checked : e.value)]], e.type == "range");
    };
    root.onclick = ({ target }) => {
      const button = target.closest("button"), { set, flip, pick, play, pace } = button?.dataset || {};
      const [key, i] = (flip || pick || play || "").split(":"), k = keys.indexOf(key), playing = timer;
      if (set) return root.set(set);
      if (k < 0) return;
      const last = labels[k].length - 1, next = () => (to([[k, state[k] + 1]], pace < 300), state[k] < last || stop());
      stop();
      if (pick) to([[k, +i]], false);
      else if (flip) to([[k, state[k] < last ? state[k] + 1 : 0]], false);
      else if (!playing) {
        if (state[k] == last) to([[k, 0]], true);
        put(button, "aria-pressed", "true");
        timer = setInterval(next, pace);
      }
    };
    all("[data-drag-x], [data-drag-y]").forEach((e) => {
      const near = (target, f) => {
        const [key, places] = target.split(":"), far = places.split(",").map((x) => Math.abs(x - f));
        return [keys.indexOf(key), far.indexOf(Math.min(...far))];
      };
      const move = ({ pointerId, clientX, clientY }) => {
        const { x, y, width, height } = e.parentElement.getBoundingClientRect(), { dragX, dragY } = e.dataset;
        if (e.hasPointerCapture(pointerId))
          to([dragX && near(dragX, (clientX - x) / width), dragY && near(dragY, (clientY - y) / height)].filter(Boolean), true);
      };
      e.onpointerdown = (event) => {
        stop();
        e.setPointerCapture(event.pointerId);
        event.preventDefault();
        if (event.pointerType == "mouse") move(event); // a finger may scroll
      };
      e.onpointermove = e.onpointerup = move;
    });
    all("fieldset")[0].disabled = false;
    root.classList.add("ready");
  };

  const start = () => {
    const every = (what, f) => document.querySelectorAll(what).forEach(f);
    every(".explorer > script", wire);
    every("a[data-xp]", (link) => {
      const roots = [...document.querySelectorAll(`.explorer[data-xp="${link.dataset.xp}"]`)];
      if (!roots[0]) return;
      link.role = "button";
      link.tabIndex = 0;
      link.onclick = link.onkeydown = (event) => {
        if (!["Enter", " ", undefined].includes(event.key)) return;
        event.preventDefault();
        roots.forEach((root) => root.set(link.dataset.set));
        roots[0].querySelector(".ex-title").scrollIntoView({ block: "nearest" });
      };
    });
  };
  if (document.readyState == "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
