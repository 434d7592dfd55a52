"""Build the editions of the book into ``_build/site/{zh,en,index.html}``.

    python -m tokenbook.site            only what changed
    python -m tokenbook.site --clean    everything, from an empty folder (what tests do)
    python -m tokenbook.site --serve    then serve it on this machine and show it

Jupyter Book builds one edition from ``_config.yml``; this script merges the key
`editions` into it, builds each edition in its own process, warnings being errors, and
puts them together under a landing page and a page for dead links (``404.html``). After
a build that was stopped or failed, the next one starts from nothing.
"""

import argparse
import copy
import errno
import fcntl
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import webbrowser
from pathlib import Path

import jinja2
import yaml

from tokenbook import ROOT
from tokenbook.homework.practice.page import write_runtime
from tokenbook.languages import LANGUAGES, pick

FILES = ("pyproject.toml", "setup.py", "README.md", "book/glossary.yml")  # of wheels
PROJECTS = (".", "src")  # of tokencredit, and of tokenbook
PRACTICE = "practice"  # one Python for the exercises of all editions
ROOM = 200 * 2**20  # bytes that a build may need


def edition_config(config: dict, lang: str, root: Path) -> dict:
    """Return the configuration of one edition, with links to all of them."""
    merged = copy.deepcopy(config)
    editions = merged.pop("editions")
    sphinx = merged["sphinx"]
    for key, value in editions[lang].items():
        if isinstance(value, dict):
            sphinx["config"].setdefault(key, {}).update(value)
        else:
            sphinx["config"][key] = value
    sphinx["config"]["edition_links"] = {other: f"../{other}/" for other in editions}
    sphinx["config"]["made"] = made(root)
    sphinx["config"]["practice_home"] = f"../{PRACTICE}/"
    return merged


def made(root: Path) -> str:
    """Return the known ones of version, date and commit: "0.2.0 · 2026-…"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    said = [project["version"]]
    if shutil.which("git"):
        command = ["git", "-C", str(root), "log", "-1", "--format=%cs · %h"]
        log = subprocess.run(command, capture_output=True, text=True)
        said += log.stdout.splitlines()[:1] if log.returncode == 0 else []
    return " · ".join(said)


def pack(out: Path) -> None:
    """Build the wheels of both packages into the site, from a copy of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        for part in FILES:
            (copied := Path(folder, part)).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / part, copied)
        shutil.copytree(ROOT / "book" / "errata", Path(folder, "book", "errata"))
        skip = shutil.ignore_patterns("*.egg-info", "__pycache__")
        shutil.copytree(ROOT / "src", Path(folder, "src"), ignore=skip)
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel"]
        command += ["-q", "--no-deps", "--no-build-isolation", "-w", str(out)]
        for project in PROJECTS:
            subprocess.run([*command, Path(folder, project)], check=True)


def build(root: Path, out: Path, *, clean: bool = False) -> int:
    """Build every edition and the landing page; return the number that failed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(out.parent).free) < ROOM:
        raise OSError(
            errno.ENOSPC,
            f"{free >> 20} MB are free, a build needs {ROOM >> 20}",
            str(out.parent),
        )
    with (out.parent / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one build at a time in a folder
        return _build(root, out, clean)


def _build(root: Path, out: Path, clean: bool) -> int:
    if clean:
        shutil.rmtree(out, ignore_errors=True)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    if unknown := config["editions"].keys() - LANGUAGES.keys():
        raise ValueError(
            f"_config.yml has an edition {', '.join(unknown)}, which is no language of "
            f"the book: {', '.join(LANGUAGES)} (src/tokenbook/languages/__init__.py)"
        )
    jobs, marks = {}, {}
    for lang in config["editions"]:
        work = out.parent / "editions" / lang
        # Sphinx would take half a page for a whole one, and a second run does not
        # repeat the warnings of the first: only a build that ended well is continued.
        marks[lang] = work / "unfinished"
        if clean or marks[lang].exists():
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        marks[lang].touch()
        path = work / "config.yml"
        text = yaml.safe_dump(edition_config(config, lang, root), allow_unicode=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "tokenbook.site", "--source", str(root)]
        command += ["--edition", str(path), "--out", str(work / "html")]
        # The editions share the cores: more threads each would only wait.
        env = {"OMP_NUM_THREADS": "1", **os.environ}
        jobs[lang] = subprocess.Popen(command, cwd=root, env=env)
    failed = [lang for lang, job in jobs.items() if job.wait() != 0]
    if failed:
        print(f"site: not built: {', '.join(failed)} (see the warnings above)")
        return len(failed)
    for lang, mark in marks.items():
        html = out.parent / "editions" / lang / "html"
        shutil.rmtree(out / lang, ignore_errors=True)
        ignore = shutil.ignore_patterns(".buildinfo", "objects.inv", ".doctrees")
        shutil.copytree(html, out / lang, ignore=ignore)
        mark.unlink()
    write_runtime(out / PRACTICE)
    for old in out.glob("*.whl"):
        old.unlink()
    pack(out)
    here = Path(__file__).parent
    templates = jinja2.FileSystemLoader([here, here.parent / "theme" / "templates"])
    pages = {page.stem: page for page in sorted(out.glob("*/*/*.html"))}
    texts = [page.read_text(encoding="utf-8") for page in pages.values()]
    words = {"editions": landing(config), "pick": pick, "there": pages, "zip": zip}
    words["chapters"] = sum(page.parent.name == "chapters" for page in pages.values())
    words["figures"] = sum(text.count('class="ex-dials"') for text in texts)
    for name, template in (("index", "landing"), ("404", "404")):
        page = jinja2.Environment(loader=templates).get_template(f"{template}.html")
        (out / f"{name}.html").write_text(page.render(words), encoding="utf-8")
    return 0


def landing(config: dict) -> list[dict[str, str]]:
    """Return the texts on each edition for the landing and the 404 page."""
    return [
        {
            "lang": lang,
            "name": LANGUAGES[lang].name,
            "html": (config["sphinx"]["config"] | edition)["language"].replace(
                "_", "-"
            ),
        }
        for lang, edition in config["editions"].items()
    ]


def build_edition(root: Path, config: Path, out: Path) -> int:
    """Build one edition with Jupyter Book; warnings are errors."""
    from jupyter_book.sphinx import build_sphinx

    result = build_sphinx(
        root,
        out,
        noconfig=True,
        path_config=config,
        confoverrides={
            "external_toc_path": str(root / "_toc.yml"),
            "latex_individualpages": False,
        },
        quiet=True,
        warningiserror=True,
        keep_going=True,
    )
    return 1 if isinstance(result, Exception) else result


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files without a line for each of them."""

    def log_message(self, *args):
        """Log nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serve to this machine only; a page closed while it loads is no error."""

    allow_reuse_address = sys.platform != "win32"

    def handle_error(self, request, address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, address)


def server(folder: Path, port: int) -> Server:
    """Return a server on `port`, or on the first free port after it."""
    handler = functools.partial(Handler, directory=folder)
    for candidate in range(port, min(port + 100, 2**16)):
        try:
            return Server(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise ValueError(f"no port from {port} on is free; choose one: make book PORT=8100")


def serve(folder: Path, port: int) -> None:
    """Serve the site until interrupted; open a browser if there is a display."""
    with server(folder, port) as running:
        address = f"http://127.0.0.1:{running.server_port}/"
        taken = (
            "" if running.server_port == port or not port else f"Port {port} is taken. "
        )
        print(f"{taken}The book is at {address}  (Ctrl+C stops it)", flush=True)
        if has_display():
            webbrowser.open(address)
        running.serve_forever()


def has_display() -> bool:
    """Whether a browser could open a window here."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) or sys.platform in ("darwin", "win32")


def port_number(text: str) -> int:
    """Return a port's number; argparse reports any other text."""
    if not text.isdecimal() or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"a port is 0 (any free one) to 65535: {text}")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clean", action="store_true", help="build from nothing")
    parser.add_argument("--serve", action="store_true", help="serve it afterwards")
    parser.add_argument(
        "--port",
        type=port_number,
        default=8000,
        help="0 picks a free port; a taken one is passed over",
    )
    parser.add_argument("--source", type=Path, default=ROOT, help="the book's root")
    parser.add_argument("--out", type=Path, default=None, help="the site's folder")
    parser.add_argument("--edition", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    try:
        if args.edition:
            return build_edition(args.source, args.edition, args.out)
        out = args.out or args.source / "_build" / "site"
        start = time.perf_counter()
        if status := build(args.source.resolve(), out.resolve(), clean=args.clean):
            return status
        print(f"site: {out} built in {time.perf_counter() - start:.1f} s", flush=True)
        if args.serve:
            serve(out, args.port)
    except KeyboardInterrupt:
        print()
        return 0 if args.serve else 130
    except (OSError, ValueError) as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
