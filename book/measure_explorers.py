"""Measure every live figure against its targets, and print the numbers.

    python book/measure_explorers.py [--steps N]

Per figure: joint states, CPU seconds to build it cold and warm, bytes of its page
element and of its stored output, and in headless Chromium the time from a key to the
painted change, the script's own time per step, interaction to next paint with a CPU six
times slower, axe-core violations, the smallest slider, and the width at 390 px.
"""

import argparse
import gzip
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from measure import LOOKS, axe, chromium, served

from tokencredit.figures import _page, explore, figure_names

STATIC = Path(_page.__file__).parent / "static"
PAGE = """<!doctype html><html lang="{0}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{1}</title>
<link rel="stylesheet" href="explorer.css"><script src="explorer.js" defer></script>
<style>@media (prefers-color-scheme: dark) {{
  html {{ background: #121212; color: #ddd; }} }}</style>
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
    sliders = page.locator(".xp input").all()
    for step in range(steps):
        if step % 5 == 0:
            sliders[step // 5 % len(sliders)].focus()
        page.keyboard.press("ArrowLeft" if step // 5 // len(sliders) % 2 else "ArrowUp")
        page.wait_for_timeout(20)
    page.wait_for_timeout(300)
    return page.evaluate("({steps, scripts, slow})")


def measure(name: str, browser, steps: int) -> dict:
    """All numbers of one figure."""
    explorer = explore(name)
    row = {"figure": name, "states": sum(1 for _ in explorer.states)}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for key in ("cold s", "warm s"):
            began = time.process_time()
            html = {k: _page.page_html(name, k, "xp") for k in explorer.title}
            row[key] = round(time.process_time() - began, 2)
        row["gz"] = max(map(size, html.values()))
        bundle, metadata = explorer._repr_mimebundle_()
        bundle.pop("application/vnd.jupyter.widget-view+json")
        row["git"] = len(json.dumps([bundle, metadata]))
        for file in STATIC.iterdir():
            (Path(folder) / file.name).write_bytes(file.read_bytes())
        for language, text in html.items():
            path = Path(folder) / f"{language}.html"
            path.write_text(PAGE.format(language, name, text), encoding="utf-8")
        requests = []
        with served(Path(folder)) as root:
            page = browser.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.goto(f"{root}en.html")
            times = press(page, steps)
            ordered = sorted(times["steps"])
            row["p50 ms"] = round(statistics.median(ordered), 1)
            row["p95 ms"] = round(ordered[int(0.95 * len(ordered))], 1)
            row["script ms"] = round(statistics.median(times["scripts"]), 1)
            page.close()
            page = browser.new_page()
            page.goto(f"{root}en.html")
            session = page.context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": 6})
            row["INP 6x"] = max(press(page, 40)["slow"], default=16)
            page.close()
            row["axe"], heights, widths = 0, [], []
            for look in LOOKS.values():
                for language in html:
                    context = browser.new_context(**look)
                    page = context.new_page()
                    page.goto(f"{root}{language}.html")
                    row["axe"] += len(axe(page))
                    boxes = [s.bounding_box() for s in page.locator("input").all()]
                    heights += [box["height"] for box in boxes]
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    widths.append(wide - look["viewport"]["width"])
                    context.close()
            row["target px"], row["overflow px"] = min(heights), max(0, *widths)
            row["external"] = sum(not url.startswith(root) for url in requests)
    return row


def main() -> None:
    """Print one line per figure, and the script's size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="key presses per figure")
    args = parser.parse_args()
    with chromium() as browser:
        rows = [measure(name, browser, args.steps) for name in figure_names()]
    table = [[*rows[0]], *([str(x) for x in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)))
    for file in sorted(STATIC.iterdir()):
        print(f"{file.name}: {size(file.read_text('utf-8'))} bytes, gzipped")


if __name__ == "__main__":
    main()
