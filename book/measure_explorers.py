"""Measure every live figure against its targets, and print the numbers.

    python book/measure_explorers.py [--steps N] [NAME ...]

Per figure: joint states, CPU seconds to build it, bytes of its page
element and of its stored output, and in headless Chromium the time from a key to the
painted change, the script's own time per step, interaction to next paint with a CPU six
times slower, axe-core violations, its height on a phone, and what is too wide.
"""

import argparse
import gzip
import json
import statistics
import tempfile
import time
from pathlib import Path

from measure import LOOKS, axe, chromium, served

from explorer import LANGUAGES
from explorer.page import SHEETS, STATIC, page_html
from tokencredit.figures import explore, figure_names

FILES = (*SHEETS, "explorer.js")
PAGE = """<!doctype html><html lang="{0}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{1}</title>
<link rel="stylesheet" href="colors.css">
<link rel="stylesheet" href="explorer.css"><script src="explorer.js" defer></script>
<style>body {{ background: var(--tc-paper); color: var(--tc-ink);
  font-family: system-ui, "Noto Sans CJK SC", sans-serif }}</style>
<script>document.documentElement.dataset.theme =
  matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"</script>
<main><h1>{1}</h1>{2}</main></html>"""
WATCH = """() => {
  window.steps = []; window.scripts = []; window.slow = [];
  new PerformanceObserver(list => list.getEntries().forEach(
    e => e.interactionId && slow.push(e.duration)))
    .observe({type: 'event', durationThreshold: 16});
  let began;
  document.addEventListener('keydown', event => {
    const key = event.timeStamp;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => steps.push(performance.now() - key);
      channel.port2.postMessage(0);
    });
  }, true);
  document.addEventListener('input', () => { began = performance.now(); }, true);
  document.addEventListener('input', () => scripts.push(performance.now() - began));
}"""


def size(text: str) -> int:
    """Bytes as a host sends them."""
    return len(gzip.compress(text.encode(), 9, mtime=0))


def press(page, steps: int) -> dict[str, list[float]]:
    """Move the sliders in turn with the arrow keys; times in milliseconds."""
    page.evaluate(WATCH)
    sliders = page.locator(".explorer input[type=range]").all()
    for step in range(steps if sliders else 0):
        if step % 5 == 0:
            sliders[step // 5 % len(sliders)].focus()
        page.keyboard.press("ArrowLeft" if step // 5 // len(sliders) % 2 else "ArrowUp")
        page.wait_for_timeout(20)
    page.wait_for_timeout(300)
    return page.evaluate("({steps, scripts, slow})")


def measure(name: str, browser, steps: int) -> dict:
    """All numbers of one figure."""
    figure = explore(name)
    row = {"figure": name, "states": sum(1 for _ in figure.states)}
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        html = {k: page_html(figure.module, k, "one") for k in LANGUAGES}
        row["build s"] = round(time.process_time() - began, 2)
        row["gz"] = max(map(size, html.values()))
        bundle, metadata = figure._repr_mimebundle_()
        bundle.pop("application/vnd.jupyter.widget-view+json")
        row["git"] = len(json.dumps([bundle, metadata]))
        for file in FILES:
            (Path(folder) / file).write_bytes((STATIC / file).read_bytes())
        for language, text in html.items():
            path = Path(folder) / f"{language}.html"
            path.write_text(PAGE.format(language, name, text), encoding="utf-8")
        requests = []
        with served(Path(folder)) as root:
            page = browser.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.goto(f"{root}en.html")
            times = press(page, steps)
            ordered = sorted(times["steps"]) or [0]
            row["p50 ms"] = round(statistics.median(ordered), 1)
            row["p95 ms"] = round(ordered[int(0.95 * len(ordered))], 1)
            row["script ms"] = round(statistics.median(times["scripts"] or [0]), 1)
            page.close()
            page = browser.new_page()
            page.goto(f"{root}en.html")
            session = page.context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": 6})
            row["INP 6x"] = max(press(page, 40)["slow"], default=16)
            page.close()
            row["axe"], heights, widths = 0, {}, []
            for look, options in LOOKS.items():
                for language in html:
                    context = browser.new_context(**options)
                    page = context.new_page()
                    page.goto(f"{root}{language}.html")
                    row["axe"] += len(axe(page))
                    box = page.locator(".explorer").bounding_box()
                    heights[look] = max(heights.get(look, 0), round(box["height"]))
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    widths.append(wide - options["viewport"]["width"])
                    context.close()
            row["phone px"], row["overflow px"] = heights["phone"], max(0, *widths)
            row["external"] = sum(not url.startswith(root) for url in requests)
    return row


def main() -> None:
    """Print one line per figure, and the size of script and style sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="figures; all by default")
    parser.add_argument("--steps", type=int, default=100, help="key presses per figure")
    args = parser.parse_args()
    names = args.names or figure_names()
    with chromium() as browser:
        rows = [measure(name, browser, args.steps) for name in names]
    table = [[*rows[0]], *([str(x) for x in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)))
    for file in FILES:
        print(f"{file}: {size((STATIC / file).read_text('utf-8'))} bytes, gzipped")


if __name__ == "__main__":
    main()
