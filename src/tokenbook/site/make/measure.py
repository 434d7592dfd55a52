"""Measure every page of the built site in a real browser, and print the numbers.

    python -m tokenbook.site.make.measure [--site DIR] [--shots DIR] [--pages GLOB]

Per page and edition: bytes of the page and of everything it loads (gzipped, as a host
sends them), requests, requests to other hosts, console errors, axe-core violations in
light, dark and at 390 px, and the time to load on Fast 3G with a CPU four times slower.
"""

import argparse
import contextlib
import fnmatch
import functools
import gzip
import http.server
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tokenbook import ROOT

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}
# A dark page is the light one in other colours, so only contrast can break.
RULES = {"light": "all", "dark": "contrast", "phone": "all"}
FAST_3G = {  # Chromium's own numbers for Fast 3G
    "offline": False,
    "latency": 562.5,
    "downloadThroughput": 1.6e6 / 8 * 0.9,
    "uploadThroughput": 750e3 / 8 * 0.9,
}
WHOLE = """section { content-visibility: visible !important }
.bd-article > section > section { contain: layout style !important }"""
UNSTUCK = ".ex-dials { position: static !important }"  # else over what axe looks at
UNCOVER = """() => document.querySelectorAll(".covered").forEach(part => {
  part.classList.remove("covered");
  part.inert = false;
})"""
TEXT = {".html", ".js", ".css", ".svg", ".json"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files as a host does, text gzipped."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        body, zipped = _body(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Log nothing."""


@functools.lru_cache(512)
def _body(path: Path) -> tuple[bytes, bool]:
    zipped = path.suffix in TEXT
    body = path.read_bytes()
    return (gzip.compress(body, 9), True) if zipped else (body, False)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve `folder` on a free port of this machine; gives the address."""
    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


PATIENCE = 60_000  # ms until a timeout, long enough for a busy machine


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium, headless; the shell without windows is fastest."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """Measurements of one visit of a page."""

    html: int = 0
    total: int = 0
    requests: int = 0
    external: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    axe: list[str] = field(default_factory=list)
    overflow: int = 0
    seconds: float = 0.0


@functools.cache
def _axe_script() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


PHONE = 720  # pixels: narrower screens need touch targets
CONTRAST = "color-contrast"  # nearly all of axe's time
# A contrast is that of a colour, a size and a weight on a ground. So of the blocks of
# text, and of the words in them, those are measured that show something new; and of
# the formulas one, because their letters have the colour of their text.
ALIKE = """() => {
  const BLOCKS = "p, li, dt, dd, td, th, pre, h1, h2, h3, h4, figcaption, summary";
  const grounds = new Map([[null, ""]]);
  const every = (selector) => [...document.querySelectorAll(selector)];
  const ground = (e) => {
    if (!grounds.has(e)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      const bare = own === "rgba(0, 0, 0, 0) none 1";
      grounds.set(e, (bare ? "" : `${own} on `) + ground(e.parentElement));
    }
    return grounds.get(e);
  };
  const look = (e) => {
    const { color, fontSize, fontWeight } = getComputedStyle(e);
    return `${color} ${fontSize} ${fontWeight} on ${ground(e)}`;
  };
  const speaks = (e) => [...e.childNodes].some((n) => n.nodeName === "#text");
  const looks = (e) => [e, ...e.querySelectorAll("*")].filter(speaks).map(look);
  const skip = (elements) => {
    const shown = new Set();
    for (const e of elements) {
      const all = looks(e);
      if (all.every((name) => shown.has(name))) e.dataset.alike = "";
      all.forEach((name) => shown.add(name));
    }
  };
  every(".katex-html").slice(1).forEach((e) => e.remove());
  skip(every(BLOCKS).filter((e) => !e.querySelector(BLOCKS)));
  skip(every("body *").filter((e) => !e.closest("[data-alike]") && !e.children.length));
}"""


def axe(page, *, rules: str = "all") -> list[str]:
    """Return axe-core's violations as `rule: element`.

    `rules` selects them: "all", "contrast" (alone) or "structure" (all others).
    """
    page.evaluate(_axe_script())
    page.evaluate(ALIKE)
    options = {"resultTypes": ["violations"]}
    scope = {"include": [["html"]]}
    found = []
    if rules != "contrast":
        sizes = {"enabled": page.viewport_size["width"] < PHONE}
        ruled = {CONTRAST: {"enabled": False}, "target-size": sizes}
        without = options | {"rules": ruled}
        found += page.evaluate("a => axe.run(...a)", [scope, without])["violations"]
    if rules != "structure":
        alone = options | {"runOnly": [CONTRAST]}
        scope["exclude"] = [["[data-alike]"]]
        found += page.evaluate("a => axe.run(...a)", [scope, alone])["violations"]
    return [
        f"{violation['id']}: {node['html'][:160]}"
        for violation in found
        for node in violation["nodes"]
    ]


def visit(
    browser: Browser,
    address: str,
    look: str = "light",
    *,
    slow: bool = False,
    check: str = "",
    shot: Path | None = None,
) -> Visit:
    """Open a page with an empty cache and report; `check` names rules of `axe`."""
    out = Visit()
    context = browser.new_context(**LOOKS[look])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: out.errors.append(str(error)))
    page.on(
        "console",
        lambda said: out.errors.append(said.text) if said.type == "error" else None,
    )

    def count(request):
        out.requests += 1
        origin = address.split("/", 3)[:3]
        if request.url.split("/", 3)[:3] != origin and not request.url.startswith(
            ("data:", "blob:")
        ):
            out.external.append(request.url)

    def weigh(response):
        size = int(response.headers.get("content-length", 0))
        out.total += size
        if response.status >= 400:
            out.errors.append(f"{response.status} {response.url}")
        if response.url.split("#")[0] == address.split("#")[0]:
            out.html = size

    page.on("request", count)
    page.on("response", weigh)
    if slow:
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", FAST_3G)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(address, wait_until="load")
    timing = "performance.getEntriesByType('navigation')[0].loadEventStart / 1000"
    out.seconds = page.evaluate(timing)
    if not slow:
        page.wait_for_timeout(500)  # requests after the load
    if check:  # the whole page, nothing folded, covered or not laid out so far
        page.add_style_tag(content=WHOLE + UNSTUCK)
        page.evaluate(UNCOVER)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
    width = "document.documentElement.scrollWidth - innerWidth"
    out.overflow = page.evaluate(width)
    if shot:
        page.screenshot(path=shot, full_page=True)
    if check:  # last: it takes formulas out
        out.axe = axe(page, rules=check)
    context.close()
    return out


def page_names(site: Path, pattern: str = "*") -> list[str]:
    """Return the pages of all editions and the landing page, without redirections."""
    redirects = {*site.glob("*/index.html")}
    pages = (p for p in site.rglob("*.html") if p not in redirects)
    names = sorted(p.relative_to(site).as_posix() for p in pages)
    return fnmatch.filter(names, pattern)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "site")
    parser.add_argument("--shots", type=Path, help="folder for screenshots")
    parser.add_argument("--pages", default="*", help="which, such as '*/chapters/*'")
    args = parser.parse_args(argv)
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    print(
        f"{'page':38} {'html':>6} {'all gz':>7} {'req':>4} {'ext':>4} {'err':>4} "
        f"{'axe l/d/p':>10} {'wide':>5} {'3G s':>6}"
    )
    bad = []
    with served(args.site) as root, chromium() as browser:
        for name in page_names(args.site, args.pages):
            seen = {}
            for look in LOOKS:
                shot = args.shots and args.shots / (
                    name.replace("/", "_").removesuffix(".html") + f"-{look}.png"
                )
                if shot:
                    visit(browser, root + name, look, shot=shot)
                seen[look] = visit(browser, root + name, look, check=RULES[look])
            slow = visit(browser, root + name, slow=True)
            light = seen["light"]
            counts = "/".join(str(len(v.axe)) for v in seen.values())
            print(
                f"{name:38} {light.html / 1e3:6.1f} {light.total / 1e3:7.1f} "
                f"{light.requests:4} {len(light.external):4} {len(light.errors):4} "
                f"{counts:>10} {seen['phone'].overflow:5} {slow.seconds:6.2f}"
            )
            for look, v in seen.items():
                bad += [(name, look, x) for x in (*v.axe, *v.errors, *v.external)]
    for problem in bad:
        print(json.dumps(problem, ensure_ascii=False))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
