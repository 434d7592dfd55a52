"""Build the two editions of the book into ``_build/site/{zh,en,index.html}``.

    python book/site.py            only what changed
    python book/site.py --clean    everything, from an empty folder (what tests do)
    python book/site.py --serve    then serve it on this machine

Jupyter Book builds one edition from ``_config.yml``; this script merges the key
`editions` into it, builds each edition in its own process, warnings being errors, and
puts them together under a landing page.
"""

import argparse
import copy
import fcntl
import functools
import http.server
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


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
    # This file lies elsewhere than _config.yml, against which its paths are meant.
    extensions = sphinx["local_extensions"]
    sphinx["local_extensions"] = {k: str(root / v) for k, v in extensions.items()}
    return merged


def build(root: Path, out: Path, *, clean: bool = False) -> int:
    """Build every edition and the landing page; return the number that failed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with (out.parent / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one build at a time in a folder
        return _build(root, out, clean)


def _build(root: Path, out: Path, clean: bool) -> int:
    if clean:
        shutil.rmtree(out, ignore_errors=True)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    jobs = {}
    for lang in config["editions"]:
        work = out.parent / "editions" / lang
        if clean:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        path = work / "config.yml"
        text = yaml.safe_dump(edition_config(config, lang, root), allow_unicode=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, __file__, "--source", str(root)]
        command += ["--edition", str(path), "--out", str(work / "html")]
        jobs[lang] = subprocess.Popen(command, cwd=root)
    failed = [lang for lang, job in jobs.items() if job.wait() != 0]
    for lang in failed:
        # A second run would not repeat the warnings of pages it has read: forget them.
        shutil.rmtree(out.parent / "editions" / lang, ignore_errors=True)
    if failed:
        print(f"site: not built: {', '.join(failed)} (see the warnings above)")
        return len(failed)
    for lang in jobs:
        html = out.parent / "editions" / lang / "html"
        shutil.rmtree(out / lang, ignore_errors=True)
        ignore = shutil.ignore_patterns(".buildinfo", "objects.inv", ".doctrees")
        shutil.copytree(html, out / lang, ignore=ignore)
    shutil.copyfile(root / "book/_templates/landing.html", out / "index.html")
    return 0


def build_edition(root: Path, config: Path, out: Path) -> int:
    """Let Jupyter Book build one edition, warnings being errors."""
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


def serve(folder: Path, port: int) -> None:
    """Serve the site to this machine only, until interrupted."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    print(f"The book is at http://127.0.0.1:{server.server_port}/  (Ctrl+C stops it)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clean", action="store_true", help="build from nothing")
    parser.add_argument("--serve", action="store_true", help="serve it afterwards")
    parser.add_argument("--port", type=int, default=8000, help="0 picks a free port")
    parser.add_argument("--source", type=Path, default=ROOT, help="the book's root")
    parser.add_argument("--out", type=Path, default=None, help="the site's folder")
    parser.add_argument("--edition", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.edition:
        return build_edition(args.source, args.edition, args.out)
    out = args.out or args.source / "_build" / "site"
    start = time.perf_counter()
    if status := build(args.source.resolve(), out.resolve(), clean=args.clean):
        return status
    print(f"site: {out} built in {time.perf_counter() - start:.1f} s")
    if args.serve:
        serve(out, args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
