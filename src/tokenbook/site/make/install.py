"""Make the book's environment for ``make book``, at first and after a change.

    python3 src/tokenbook/site/make/install.py .venv requirements.txt

Prints pip's progress, and one sentence if something is missing. It runs before anything
is installed, on any Python from 3.6 on.
"""

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

OLDEST = (3, 11)
ROOM = 3 << 30  # bytes of the environment, with the CPU build of torch
QUIET = 10.0  # seconds between two lines where the output is no terminal
FULL = "the disk is full: the environment needs 3 GB, and 8 GB with the CUDA build"
REASONS = (  # text of pip's errors, and the explanation
    (r"No space left|Errno 28|Errno 122", FULL),
    (
        r"NewConnectionError|NameResolution|Connection refused|unreachable|timed out"
        r"|Max retries exceeded|ProxyError",
        "the package index was not reached: is this machine online? With a mirror: "
        "make book PIP_INDEX_URL=https://...",
    ),
    (
        r"No matching distribution|Could not find a version",
        "the package index has no version that fits this Python and machine",
    ),
    (r"ensurepip", "this Python has no venv (Debian: apt install python3-venv)"),
)
FETCHED = re.compile(r"\s*(?:Downloading|Using cached) (?:\S*/)?([\w.]+?)-\d\S* ?(.*)")


def reason(said):
    """Return the error in one sentence, from the output of pip or venv."""
    for pattern, meaning in REASONS:
        if re.search(pattern, said):
            return meaning
    errors = [line for line in said.splitlines() if "error" in line.lower()]
    return (errors or said.splitlines() or ["no word why"])[-1].strip()


def environment(folder):
    """Return the Python of the environment; an incomplete one is made anew."""
    python = os.path.join(folder, "bin", "python")
    pip = [python, "-m", "pip", "--version"]
    if (
        os.path.exists(python)
        and subprocess.run(pip, capture_output=True).returncode == 0
    ):
        return python
    if shutil.disk_usage(".").free < ROOM:
        sys.exit("install: " + FULL)
    make = [sys.executable, "-m", "venv", "--clear", folder]
    made = subprocess.run(make, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        sys.exit("install: " + reason(made.stdout.decode("utf-8", "replace")))
    return python


def install(python, requirements):
    """Run pip with its progress shown; return its output if it failed."""
    command = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "-r", requirements]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, universal_newlines=True, **options) as pip:
        lines = queue.Queue()
        threading.Thread(target=read, args=[pip.stdout, lines], daemon=True).start()
        printed = show(lines)
    return printed if pip.returncode else ""


def read(stream, lines):
    """Queue each line of a stream, and None at the end."""
    for line in stream:
        lines.put(line)
    lines.put(None)


def show(lines):
    """Print pip's progress every few seconds; return its whole output."""
    terminal = sys.stdout.isatty()
    began = told = time.monotonic()
    printed, seen, now, line = [], set(), "asking for packages", ""
    while line is not None:
        printed.append(line)
        fetched = FETCHED.match(line)
        if fetched:
            seen.add(fetched.group(1))
            now = " ".join(fetched.groups())
        elif line.startswith("Installing"):
            now = "unpacking all of them"
        if time.monotonic() - told >= (0.2 if terminal else QUIET):
            told = time.monotonic()
            minutes, seconds = divmod(int(told - began), 60)
            status = f"install: {minutes}:{seconds:02}, {len(seen)} packages, {now}"
            print(f"\r\033[K{status[:79]}" if terminal else status, end="\n"[terminal:])
            sys.stdout.flush()
        try:
            line = lines.get(timeout=1.0)
        except queue.Empty:
            line = ""
    if terminal:
        print("\r\033[K", end="")
    return "".join(printed)


def main(folder, requirements, version=sys.version_info):
    if version[:2] < OLDEST:
        have, need = (".".join(map(str, v[:2])) for v in (version, OLDEST))
        sys.exit(
            f"install: Python {have} is too old, {need} or later is needed: "
            "make book PYTHON=python3.12"
        )
    print(f"install: {requirements} into {folder}, once; this takes minutes")
    sys.stdout.flush()
    said = install(environment(folder), requirements)
    if said:
        log = os.path.join(folder, "install.log")
        with open(log, "w") as file:
            file.write(said)
        sys.exit(f"install: {reason(said)} (all that pip said: {log})")
    print("install: done")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except KeyboardInterrupt:
        sys.exit("\ninstall: stopped; the next try goes on from here")
