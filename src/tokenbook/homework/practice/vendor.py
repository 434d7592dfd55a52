"""Rebuild the folder ``python/``: Python for the browser, cut to the parts in use.

    make python        maintainers run it once for each new version of Pyodide

npm downloads the package, whose checksums are known; ``slim.mjs`` compiles its library
and drops modules that no answer uses. The result is committed, so that a book can be
built without npm, and tests run the same bytes as readers.
"""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "314.0.7"
PUBLISHED = {  # sha256 of the package's own files
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": (
        "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635"
    ),
    "pyodide.asm.wasm": (
        "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6"
    ),
    "python_stdlib.zip": (
        "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a"
    ),
}
FOLDER = Path(__file__).parent / "python"
LOADED = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm.gz",
    "python_stdlib.zip",
    "runtime.json",
)
SUMS = "SHA256SUMS"


def sha256(path: Path) -> str:
    """Return a file's sum."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sums(folder: Path = FOLDER) -> dict[str, str]:
    """Return the sum of each file that readers load, as the repository states it."""
    lines = (folder / SUMS).read_text("utf-8").splitlines()
    return {name: said for said, name in (line.split() for line in lines)}


def fetch(space: Path) -> Path:
    """Return the folder of the published package, with checked files.

    Raises:
        ValueError: a file has another sum.
    """
    command = ["npm", "pack", f"pyodide@{VERSION}", "--loglevel=error"]
    packed = subprocess.run(
        command, cwd=space, capture_output=True, text=True, check=True
    )
    with tarfile.open(space / packed.stdout.split()[-1]) as archive:
        archive.extractall(space, filter="data")
    package = space / "package"
    for name, known in PUBLISHED.items():
        if sha256(package / name) != known:
            raise ValueError(f"pyodide {VERSION}: {name} is not the file that is known")
    return package


def make(package: Path, folder: Path) -> None:
    """Write the folder from the published package."""
    here = Path(__file__).parent
    for name in ("pyodide.mjs", "pyodide.asm.mjs"):
        shutil.copy(package / name, folder / name)
    wasm = (package / "pyodide.asm.wasm").read_bytes()
    (folder / "pyodide.asm.wasm.gz").write_bytes(gzip.compress(wasm, 9, mtime=0))
    library = folder / "python_stdlib.zip"
    command = ["node", here / "slim.mjs", package, here / "modules.txt", library]
    subprocess.run(command, check=True)
    large = ["pyodide.asm.wasm.gz", library.name]
    lock = json.loads((package / "pyodide-lock.json").read_text("utf-8"))
    runtime = {"sizes": {name: (folder / name).stat().st_size for name in large}}
    runtime["info"] = {
        key: lock["info"][key] for key in ("abi_version", "arch", "platform", "python")
    }
    text = json.dumps(runtime, indent=1) + "\n"
    (folder / "runtime.json").write_text(text, "utf-8")
    lines = [f"{sha256(folder / name)}  {name}\n" for name in LOADED]
    (folder / SUMS).write_text("".join(lines), "utf-8")


def main() -> int:
    try:
        with tempfile.TemporaryDirectory() as space:
            make(fetch(Path(space)), FOLDER)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"python for the browser: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"python for the browser: {FOLDER}, {size / 2**20:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
