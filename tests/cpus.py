"""Do the numbers depend on the kind of CPU? Every notebook and every test that compares
stored numbers, under several kernels.

    python tests/cpus.py                    every kernel of this CPU, 1 and 2 threads
    python tests/cpus.py --kernels native sse --threads 1

A kernel is a choice of instructions that OpenBLAS, MKL, oneDNN, PyTorch and numpy all
obey, as they would on an older machine. In "native" nothing is chosen: each takes the
newest that the CPU has, AVX512_BF16 and AMX included. "other" stands for CPUs that are
not at hand: it is native with last bits changed on purpose (`last_bits`). Printed is a
table: kernel, threads, cells and tests that were compared, and how many differ; then
what differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[1]
NUMBERS = ("test_golden.py", "test_agent_figures.py", "test_environments.py")
NBVAL = ["-p", "nbval", "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "600"]
NBVAL += ["--nbval-kernel-startup-timeout", "300"]
NBVAL += ["--nbval-sanitize-with", "tests/sanitize.cfg", "-p", "kernel_sockets"]
FREE = ("native", "other")  # kernels that choose no instructions
# name: (OpenBLAS, MKL, oneDNN, PyTorch, what numpy calls the first it must not use)
KERNELS = {
    "sse": ("Nehalem", "SSE4_2", "SSE41", "default", "X86_V3"),
    "avx": ("Sandybridge", "AVX", "AVX", "default", "X86_V3"),
    "avx2": ("Haswell", "AVX2", "AVX2", "avx2", "X86_V4"),
    "avx512": ("SkylakeX", "AVX512", "AVX512_CORE", "avx512", ""),
}
NAMES = [FREE[0], *KERNELS, FREE[1]]
# On the CPUs of another maker MKL obeys this alone; the mathematical library of C has
# its own switch, for exp and log.
OLD = {
    "MKL_CBWR": "COMPATIBLE",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable,-AVX2,-FMA,-FMA4",
}
NEEDS = {"sse": "SSE42", "avx": "AVX", "avx2": "AVX2", "avx512": "AVX512_SKX"}


def settings(kernel: str, threads: int) -> dict[str, str]:
    """Return the environment in which everything obeys a kernel."""
    count = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return chosen(kernel) | dict.fromkeys(count, str(threads))


def chosen(kernel: str) -> dict[str, str]:
    """Return the variables that choose a kernel; none of them is set in a free one."""
    if kernel in FREE:
        return {}
    openblas, mkl, onednn, torch, first = KERNELS[kernel]
    unused = __cpu_dispatch__[__cpu_dispatch__.index(first) :] if first else []
    old = OLD if torch == "default" else {}
    return old | {
        "OPENBLAS_CORETYPE": openblas,
        "MKL_ENABLE_INSTRUCTIONS": mkl,
        "DNNL_MAX_CPU_ISA": onednn,
        "ATEN_CPU_CAPABILITY": torch,
        "NPY_DISABLE_CPU_FEATURES": " ".join(f for f in unused if __cpu_features__[f]),
    }


def compare(kernel: str, threads: int, workers: int) -> tuple[int, dict[str, list]]:
    """Return how many cells and tests were compared, and which differ in each file."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers)]
        command += ["--dist", "loadfile", f"--junit-xml={report}", *NBVAL]
        command += [
            "chapters",
            "book/sorting.ipynb",
            *(f"tests/{name}" for name in NUMBERS),
        ]
        forced = {name for one in KERNELS for name in chosen(one)}
        env = {name: value for name, value in os.environ.items() if name not in forced}
        env |= settings(kernel, threads)
        path = [str(ROOT / "tests"), *filter(None, [env.get("PYTHONPATH")])]
        env |= {"PYTHONPATH": os.pathsep.join(path)}
        if kernel == "other":
            command += ["-p", "last_bits"]
            start = Path(folder, "profile_default", "startup", "last_bits.py")
            start.parent.mkdir(parents=True)
            start.write_text("import last_bits")
            env |= {"IPYTHONDIR": folder}
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True
        )
        if done.returncode > 1:  # pytest itself did not come to its end
            sys.exit(f"cpus: {kernel}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))
    wrong = {}
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            wrong.setdefault(case.get("classname"), []).append(case.get("name"))
    if wrong:
        print(done.stdout[-6000:])
    return len(cases), wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args(argv)
    differ = []
    print(f"{'kernel':8} {'threads':>7} {'compared':>9} {'differ':>7} {'seconds':>8}")
    for kernel in args.kernels:
        if kernel in NEEDS and not __cpu_features__.get(NEEDS[kernel]):
            print(f"{kernel:8} this CPU has no such instructions")
            continue
        for threads in args.threads:
            began = time.monotonic()
            count, wrong = compare(kernel, threads, args.workers)
            spent = time.monotonic() - began
            differing = sum(map(len, wrong.values()))
            print(
                f"{kernel:8} {threads:7} {count:9} {differing:7} {spent:8.0f}",
                flush=True,
            )
            differ += [
                f"{kernel}, {threads} threads: {file}: {', '.join(names)}"
                for file, names in wrong.items()
            ]
    print("\n".join(differ), end="\n" if differ else "")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
