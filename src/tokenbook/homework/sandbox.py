"""The grader's side of a student's process: start, request, stop.

``Sandbox`` keeps one warm process that has imported torch (``worker.py``) and gets a
fresh guarded child from it in a few milliseconds. ``Student`` is such a child: it
runs cells, and ``Student.function`` is the stand-in that checks call in place of the
student's function. Gradients pass through a stand-in: its backward asks the
student's process for the vector-Jacobian product of the same call.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from tokenbook.homework import exchange
from tokenbook.homework.worker import LIST, readable

WORKER = Path(__file__).with_name("worker.py")
MEMORY = 2**30  # bytes of a student's process, beyond those torch has mapped
PRELOADED = ("sympy",)  # which torch imports at a process's first gradient


class StudentError(Exception):
    """An error on the student's side; ``report`` has it as data."""

    def __init__(self, report: dict):
        self.report = report
        super().__init__(f"{report['kind']}: {report.get('text', '')}")


KINDS = (ValueError, TypeError, KeyError, IndexError, RuntimeError, ZeroDivisionError)
RAISED = {k.__name__: type(k.__name__, (StudentError, k), {}) for k in KINDS}


class Student:
    """One student's process with a clock that runs only while we wait for it."""

    def __init__(self, channel, control, folder, seconds: float):
        self.channel, self.control, self.folder = channel, control, folder
        self.left, self.waited = seconds, 0.0
        self.number, self.alive = 0, True
        self.tried: set[str] = set()
        self.unsent: dict[str, dict] = {}  # values that could not be fetched, and why
        self.changed = False
        try:
            self.isolation = self.read()
        except StudentError:
            self.isolation = {}

    def read(self) -> dict:
        """One message, within the time that is left; anything else ends the process."""

        def read(channel, size):
            started = time.monotonic()
            channel.settimeout(max(self.left, 0.001))
            try:
                return channel.recv(size)
            finally:
                took = time.monotonic() - started
                self.left, self.waited = self.left - took, self.waited + took

        try:
            message = exchange.receive(self.channel, read)
        except TimeoutError:
            self.lose("timeout")
        except (ValueError, RecursionError, OSError):
            self.lose("died")
        if message is None:
            self.lose("died")
        return message

    def lose(self, kind: str) -> None:
        self.end()
        raise StudentError({"kind": kind})

    def ask(self, do: str, **request) -> dict:
        """Send one request and return its reply; the student's error is raised."""
        if not self.alive:
            raise StudentError({"kind": "lost"})
        self.number += 1
        try:
            self.channel.settimeout(max(self.left, 0.001))
            exchange.send(self.channel, {"do": do, "id": self.number, **request})
        except OSError as error:
            self.lose("timeout" if isinstance(error, TimeoutError) else "died")
        reply = self.read()
        if reply.get("id") != self.number:
            self.lose("died")
        if isinstance(reply.get("tried"), list):
            tried = set(map(str, reply["tried"]))
            self.tried |= tried & {"files", "network", "processes"}
        if "error" in reply:
            error = clean(reply["error"])
            raise RAISED.get(error["kind"], StudentError)(error)
        return reply

    def function(self, name: str, models):
        """The stand-in for the student's function of that name; see `kinds`."""

        def stand_in(*args, **kwargs):
            arguments = exchange.encode([list(args), kwargs])
            value = self.call(name, list(args), kwargs)
            return models.fit_result(name, arguments, value)

        stand_in.__name__ = name
        return stand_in

    def call(self, name: str, args: list, kwargs: dict):
        sent: list[torch.Tensor] = []
        arguments = exchange.encode([args, kwargs], sent)
        grad = torch.is_grad_enabled()
        reply = self.ask("call", name=name, arguments=arguments, grad=grad)
        made: list[torch.Tensor] = []
        with self.distrust():
            value = exchange.decode(reply["value"], lambda t: made.append(t) or t)
            if "changed" in reply:
                self.changed = True
                copy_back([args, kwargs], exchange.decode(reply["changed"]))
        if not made:
            return value
        if not (sent and grad):
            for tensor in made:
                tensor.requires_grad_()
            return value
        live = iter(Remote.apply(self, self.number, made, *sent))
        return exchange.decode(reply["value"], lambda tensor: next(live))

    def fetch(self, name: str):
        reply = self.ask("fetch", name=name)
        with self.distrust():
            return exchange.decode(reply["value"])

    @contextlib.contextmanager
    def distrust(self):
        """A reply that is no encoded value can only be forged."""
        try:
            yield
        except Exception as error:
            raise StudentError({"kind": "forged", "text": str(error)[:200]}) from None

    def end(self) -> None:
        """End the process and everything that it started, and empty its folder."""
        if self.alive:
            self.alive = False
            self.channel.close()
            with contextlib.suppress(OSError):
                self.control.sendall(b"end")
                self.control.settimeout(10)
                self.control.recv(1)  # the guard closes it when nothing is left
            self.control.close()
            self.folder.cleanup()


class Remote(torch.autograd.Function):
    """A student's call as one node of the grader's autograd graph."""

    @staticmethod
    def forward(ctx, student, number, outputs, *inputs):
        ctx.student, ctx.number, ctx.inputs = student, number, inputs
        return tuple(output.clone() for output in outputs)

    @staticmethod
    def backward(ctx, *grads):
        data = exchange.encode(list(grads))
        reply = ctx.student.ask("backward", call=ctx.number, grads=data)
        with ctx.student.distrust():
            found = exchange.decode(reply["grads"])
            for grad, value in zip(found, ctx.inputs, strict=True):
                if grad is not None and grad.shape != value.shape:
                    raise ValueError(f"gradient of shape {tuple(grad.shape)}")
        return (None, None, None, *found)


def copy_back(old, new) -> None:
    """Repeat on our arguments the in-place changes of the student's function."""
    if isinstance(old, torch.Tensor) and old.shape == new.shape:
        with torch.no_grad():
            old.copy_(new)
    elif isinstance(old, dict) and old.keys() == new.keys():
        for key in old:
            copy_back(old[key], new[key])
    elif isinstance(old, list) and len(old) == len(new):
        for index, item in enumerate(new):
            copy_back(old[index], item)
            if not isinstance(item, (torch.Tensor, list, dict)):
                old[index] = item
    elif isinstance(old, list):
        old[:] = new


def clean(error) -> dict:
    """A student's error report with nothing in it but short text and a line number."""
    error = error if isinstance(error, dict) else {}
    line = error.get("line")
    return {
        "kind": str(error.get("kind", "Error"))[:80],
        "text": str(error.get("text", ""))[:500],
        "line": line if type(line) is int else None,
        "cell": str(error.get("cell", "")),
    }


def bubblewrap(hidden: list[str], folder: str) -> list[str]:
    """The start of a command that runs behind bubblewrap, [] where that is not here.

    It shows the interpreter and the system's libraries, and `folder`, the only place
    to write; no network and no process of the teacher's. As root its own rights stay,
    with which the worker becomes another user for every student.
    """
    if not (program := shutil.which("bwrap")):
        return []
    seen = [path for path, right in readable(hidden).items() if right != LIST]
    seen = [path for path in seen if not path.startswith(("/dev/", "/proc/"))]
    own = [str(WORKER), str(WORKER.with_name("exchange.py"))]
    wall = [program, "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    wall += ["--die-with-parent", "--cap-add", "ALL"][: 3 if os.getuid() == 0 else 1]
    for path in sorted({*seen, *own}):
        wall += ["--ro-bind", path, path]
    for path, target in links([sys.executable, sys.prefix, "/bin", "/lib", "/lib64"]):
        wall += ["--symlink", target, path]
    wall += ["--dev", "/dev", "--proc", "/proc", "--bind", folder, folder]
    see = "import importlib.util; assert importlib.util.find_spec('torch')"
    tried = subprocess.run(
        [*wall, sys.executable, "-I", "-c", see], capture_output=True, timeout=60
    )
    return [] if tried.returncode else [*wall, "--chdir", f"{folder}/home"]


def links(paths: list[str]) -> list[tuple[str, str]]:
    """The first symbolic link on the way to each path, and where it leads."""
    found = {}
    for path in map(Path, paths):
        for part in reversed((path, *path.parents)):
            if part.is_symlink():
                found[str(part)] = os.readlink(part)
                break
    return sorted(found.items())


class Sandbox:
    """The warm process; a context manager that gives out students' processes."""

    def __init__(self, seconds: float, modules=(), hidden=(), within=None):
        self.seconds, self.process, self.within = seconds, None, within
        names = [*modules, *PRELOADED]
        found = [name for name in names if importlib.util.find_spec(name)]
        hidden = [str(Path(path).resolve()) for path in hidden]
        self.hidden = hidden
        self.options = json.dumps({"modules": found, "hidden": hidden})

    def __enter__(self) -> "Sandbox":
        if sys.platform != "linux":
            raise OSError("grading needs Linux, WSL2 or a container")
        self.folder = tempfile.TemporaryDirectory(
            prefix="grading-", dir=self.within, ignore_cleanup_errors=True
        )
        os.chmod(self.folder.name, 0o711)
        self.wall = bubblewrap(self.hidden, self.folder.name)
        self.walls = {"network", "files"} if self.wall else set()
        return self

    def __exit__(self, *_) -> None:
        self.stop()
        self.folder.cleanup()

    def stop(self) -> None:
        if self.process:
            self.orders.close()
            self.process.kill()
            self.process.wait()
            self.process = None

    def start(self) -> None:
        self.stop()
        self.orders, theirs = socket.socketpair()
        home = Path(self.folder.name, "home")
        home.mkdir(exist_ok=True)
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        self.process = subprocess.Popen(
            [
                *(*self.wall, sys.executable, "-I", "-X", "utf8"),
                *(str(WORKER), str(theirs.fileno()), self.options),
            ],
            cwd=home,
            env={
                **dict.fromkeys(names, "1"),
                **{"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                "TORCHDYNAMO_DISABLE": "1",  # @torch.compile changes no number
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def fonts(self, folder: Path) -> None:
        """Put matplotlib's list of fonts into a student's home, made once.

        Else each first plot would look for fonts with another program, for seconds.
        """
        made = Path(self.folder.name, "fonts")
        if not made.exists():
            made.mkdir()
            subprocess.run(
                [sys.executable, "-c", "import matplotlib.font_manager"],
                env=os.environ | {"MPLCONFIGDIR": str(made)},
                capture_output=True,
            )
        home = folder / ".cache" / "matplotlib"
        home.mkdir(parents=True)
        for file in made.glob("*.json"):
            shutil.copy(file, home)
        for path in (folder / ".cache", home, *home.iterdir()):
            path.chmod(0o777)

    def student(self, cells: int, fonts: bool = False) -> Student:
        """A fresh process; ``cells`` bounds its CPU time, ``seconds`` each wait."""
        cpu = int(self.seconds * (cells + 2)) + 1
        for _ in range(2):
            if self.process is None or self.process.poll() is not None:
                self.start()
            channel, theirs = socket.socketpair()
            control, guards = socket.socketpair()
            folder = tempfile.TemporaryDirectory(
                prefix="student-", dir=self.folder.name, ignore_cleanup_errors=True
            )
            if fonts:
                self.fonts(Path(folder.name))
            order = {"folder": folder.name, "memory": MEMORY, "cpu": cpu}
            handles = [theirs.fileno(), guards.fileno()]
            with contextlib.suppress(OSError), theirs, guards:
                socket.send_fds(self.orders, [json.dumps(order).encode()], handles)
                theirs.close()
                guards.close()
                student = Student(channel, control, folder, max(self.seconds, 30))
                student.left, student.waited = self.seconds, 0.0
                if student.isolation:
                    works = {name for name, does in student.isolation.items() if does}
                    self.open = student.isolation.keys() - works - self.walls
                    return student
            self.stop()
        raise OSError("the student's process does not start")
