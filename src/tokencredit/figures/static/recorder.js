"use strict";
// Moves the book's figures. A page holds every state of a figure's grid as templates
// and delta-coded numbers (see _record.py); they are unpacked at the first touch.
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
        const text = template.split("~");
        const slots = text.slice(1).map(() => [next(), series()]);
        return (state) =>
          text.reduce((done, part, i) => {
            const [decimals, value] = slots[i - 1];
            const x = value(state) / 10 ** decimals;
            return done + (name ? x : x.toFixed(decimals)) + part;
          });
      });
      return [element, name, (state) => all[which(state)](state)];
    });
  };

  const wire = (root) => {
    const inputs = [...root.querySelectorAll("input")];
    const data = JSON.parse(root.querySelector("script").textContent);
    const says = root.querySelector(".xp-readout");
    const elements = [...root.querySelectorAll("[data-m]"), says];
    const old = [];
    let changes;
    const draw = () => {
      changes ||= unpack(data);
      const state = inputs.map((input) => +input.value);
      changes.forEach(([element, name, value], i) => {
        const text = value(state);
        if (text === old[i]) return;
        old[i] = text;
        if (name) elements[element].setAttribute(name, text);
        else elements[element].textContent = text;
      });
      inputs.forEach((input, k) => {
        const label = data.v[k][state[k]];
        input.previousElementSibling.textContent = label;
        input.setAttribute("aria-valuetext", `${input.dataset.symbol} = ${label}; ${says.textContent}`);
      });
    };
    root.querySelector("fieldset").disabled = false;
    root.addEventListener("input", () => {
      says.ariaLive = "off";
      draw();
    });
    root.set = (settings) => {
      says.ariaLive = "polite";
      for (const part of settings.split(",")) {
        const [key, value] = part.split("=");
        const k = inputs.findIndex((input) => input.dataset.key == key.trim());
        inputs[k].value = data.v[k].indexOf(value.trim());
      }
      draw();
    };
  };

  const start = () => {
    document.querySelectorAll(".xp").forEach(wire);
    document.querySelectorAll("a[data-xp]").forEach((link) => {
      const roots = [...document.querySelectorAll(`.xp[data-xp="${link.dataset.xp}"]`)];
      if (!roots.length) return;
      link.setAttribute("role", "button");
      link.tabIndex = 0;
      const go = (event) => {
        if (event.key && event.key != "Enter" && event.key != " ") return;
        event.preventDefault();
        roots.forEach((root) => root.set(link.dataset.set));
        roots[0].scrollIntoView({ block: "nearest" });
      };
      link.addEventListener("click", go);
      link.addEventListener("keydown", go);
    });
  };
  if (document.readyState == "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
