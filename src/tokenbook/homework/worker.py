"""The student's side: a warm process that forks one guarded child per student.

Started as ``python -I worker.py SOCKET ORDERS``, in an empty folder and with a clean
environment. It imports torch once, runs no student's code itself, and forks for every
request. The child is two processes: a trusted guard that outlives all processes of the
student, and under it the process that runs the student's cells.

The limits of the second one depend on the system and are reported at its start: own
process and network space (``unshare``), own user (when the teacher is root), and a file
system closed but for the interpreter and its own folder (Landlock). Limits on memory,
CPU time, file size and processes hold everywhere.
"""

import ast
import asyncio
import contextlib
import ctypes
import importlib
import importlib.util
import inspect
import mmap
import os
import random
import resource
import select
import signal
import socket
import sys
import sysconfig
import types
from pathlib import Path

import torch

SPEC = importlib.util.spec_from_file_location(
    "exchange", Path(__file__).with_name("exchange.py")
)
exchange = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(exchange)

PACKAGES = ("tokencredit", "tokenbook")
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_IPC, NEW_PID, NEW_NET = 0x10000000, 0x08000000, 0x20000000, 0x40000000
SUBREAPER, NO_NEW_PRIVILEGES, KEEP_CAPABILITIES = 36, 38, 8
READ_ANY_FILE = 2  # the capability CAP_DAC_READ_SEARCH
PROCESSES = 64
STUDENT_USER = 61234  # a user that owns nothing, taken when the teacher is root


# --- what the student's process may touch ------------------------------------


READ, LIST = 0b1101, 0b1000  # Landlock's bits: execute, read, list; or list alone


def readable(hidden: list[str]) -> dict[str, int]:
    """Rights on the interpreter and the system's libraries, not on the package."""
    roots = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    roots |= {"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime"}
    roots |= {"/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo"}
    roots |= {"/sys/devices/system/cpu"}
    site = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    globs = [(folder, f"*{name}*") for folder in site for name in PACKAGES]
    parts = {entry for folder, glob in globs for entry in folder.glob(glob)}
    closed = {entry.resolve() for entry in parts} | {Path(path) for path in hidden}
    found: dict[str, int] = {}
    for root in {os.path.realpath(path) for path in roots}:
        found |= openings(Path(root), closed)
    return found


def openings(path: Path, closed: set[Path]) -> dict[str, int]:
    """The path, or a list right and its entries where something in it is closed."""
    if path in closed or not path.exists():
        return {}
    if not any(entry.is_relative_to(path) for entry in closed):
        return {str(path): READ}
    found = {str(path): LIST}
    for entry in path.iterdir():
        found |= openings(entry, closed)
    return found


def close_files(folder: str, opened: dict[str, int]) -> bool:
    """Landlock: read the interpreter, write the folder, nothing else; see landlock(7).

    Rights are bits: 0 execute, 1 write, 2 read a file, 3 list a folder, 4 to 12
    remove and make entries, 13 move between folders, 14 truncate, 15 device ioctl.
    """
    version = LIBC.syscall(444, None, 0, 1)
    if version < 1:
        return False
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0
    scope = 0b11 if version >= 6 else 0
    sizes = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}
    rules = (ctypes.c_uint64 * 3)(files, network, scope)
    handle = LIBC.syscall(444, rules, sizes.get(version, 24), 0)
    if handle < 0:
        return False
    on_files = files & (0b111 | 1 << 14 | 1 << 15)
    for path, rights in (opened | {"/dev/null": 0b110, folder: files}).items():
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights &= files if os.path.isdir(path) else on_files
            rule = rights.to_bytes(8, "little") + descriptor.to_bytes(4, "little")
            LIBC.syscall(445, handle, 1, rule, 0)
            os.close(descriptor)
    LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    closed = LIBC.syscall(446, handle, 0) == 0
    os.close(handle)
    return closed


def own_space() -> bool:
    """Leave the teacher's network and process space."""
    user, group = os.getuid(), os.getgid()
    spaces = NEW_NET | NEW_PID | NEW_IPC
    if user == 0 and LIBC.unshare(spaces) == 0:
        return True
    if LIBC.unshare(spaces | NEW_USER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def other_user(folder: str) -> bool:
    """As root, switch to a user that owns only the folder.

    If that user could not read the interpreter (installed in root's home), the right to
    read files stays, and Landlock alone restricts it.
    """
    if os.getuid() != 0:
        return False
    os.chown(folder, STUDENT_USER, STUDENT_USER)
    paths = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix)}
    folders = {folder for path in paths for folder in (path, *path.parents)}
    private = any(not folder.stat().st_mode & 0o001 for folder in folders)
    LIBC.prctl(KEEP_CAPABILITIES, int(private), 0, 0, 0)
    os.setgroups([])
    os.setresgid(STUDENT_USER, STUDENT_USER, STUDENT_USER)
    os.setresuid(STUDENT_USER, STUDENT_USER, STUDENT_USER)
    if private:
        kept = 1 << READ_ANY_FILE
        version = (ctypes.c_uint32 * 2)(0x20080522, 0)
        LIBC.capset(version, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))
    return True


def limit(memory: int, seconds: int, processes: bool) -> None:
    """Set the limits: memory beyond torch's, CPU seconds, file size, processes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + memory
    limits = {
        resource.RLIMIT_AS: room,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 16 * 2**20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    if processes:
        limits[resource.RLIMIT_NPROC] = PROCESSES
    for name, value in limits.items():
        resource.setrlimit(name, (value, value))


# --- the two processes of one student ----------------------------------------


def guard(channel: socket.socket, control: socket.socket, order: dict) -> None:
    """Start the student's process; at its end or on request kill its descendants."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    LIBC.prctl(SUBREAPER, 1, 0, 0, 0)
    space = own_space()
    child = os.fork()
    if child == 0:
        control.close()
        student(channel, order, space)
        os._exit(0)
    channel.close()
    ended = os.pidfd_open(child)
    select.select([ended, control], [], [])
    os.kill(child, signal.SIGKILL)
    while left := descendants():
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def descendants() -> list[int]:
    """Our children, including reparented orphans and zombies."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2]
            found += [int(entry)] if int(fields.split()[1]) == os.getpid() else []
    return found


def student(channel: socket.socket, order: dict, space: bool) -> None:
    """Restrict this process, report the result, then answer requests."""
    folder = order["folder"]
    os.setsid()
    os.chdir(folder)
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 4096)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # else /tmp, at some imports
    user = other_user(folder)
    limit(order["memory"], order["cpu"], processes=user or (space and os.getuid() > 0))
    files = close_files(folder, order["readable"])
    apart = {"network": space, "user": os.getuid() != 0, "files": files}
    exchange.send(channel, apart)
    Session(channel, folder, order["readable"]).serve()


class Session:
    """Runs one student's cells and calls their functions, one request at a time."""

    def __init__(self, channel: socket.socket, folder: str, opened: dict[str, int]):
        self.channel, self.process = channel, os.getpid()
        self.module = types.ModuleType("__main__")
        self.graphs, self.tried, self.fetched = {}, set(), {}
        self.started = mmap.mmap(-1, 1)  # shared with whatever is forked
        self.listed = {path for path, right in opened.items() if right == LIST}
        self.allowed = tuple(f"{path}/" for path in opened if path not in self.listed)
        self.folder = os.path.join(os.path.realpath(folder), "")
        self.module.__dict__.update(display=ignore, get_ipython=Shell)
        sys.modules["__main__"] = self.module
        sys.meta_path.insert(0, Absent())
        open_paths = (*self.allowed, *(f"{path}/" for path in self.listed))
        sys.path[:] = [p for p in sys.path if f"{p}/".startswith(open_paths)]
        random.seed(0)
        torch.manual_seed(0)
        sys.addaudithook(self.watch)

    def watch(self, event: str, arguments: tuple) -> None:
        """Refuse and remember files outside, sockets; remember started processes."""
        if event in STARTS:
            self.tried.add("processes")
            if self.started[0] >= PROCESSES:
                raise PermissionError("too many processes")
            self.started[0] += 1
        elif event in ("os.kill", "os.killpg") and arguments[0] != self.process:
            self.refuse("processes", event)
        elif event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
            self.refuse("network", event)
        elif event in READS or event in WRITES:
            both = event in ("os.rename", "os.link")
            paths = arguments[:2] if both else arguments[:1]
            for path in paths:
                if isinstance(path, (str, bytes, os.PathLike)):
                    self.watch_path(os.fsdecode(path), event, arguments)

    def watch_path(self, path: str, event: str, arguments: tuple) -> None:
        full = os.path.realpath(path)
        if full == "/dev/null" or f"{full}/".startswith(self.folder):
            return
        if event in ("os.listdir", "os.scandir") and full in self.listed:
            return
        flags = arguments[2] if event == "open" and len(arguments) > 2 else 0
        writes = event in WRITES or (isinstance(flags, int) and flags & 0b11)
        if not writes and not os.path.lexists(full):
            return  # such as /kaggle/input: reported as missing
        if writes or not f"{full}/".startswith(self.allowed):
            self.refuse("files", path)

    def refuse(self, what: str, detail: str) -> None:
        self.tried.add(what)
        raise PermissionError(f"not allowed while grading: {detail}")

    def serve(self) -> None:
        while (request := exchange.receive(self.channel)) is not None:
            try:
                reply = getattr(self, request["do"])(request)
            except BaseException as error:
                reply = {"error": describe(error, request.get("cell"))}
            if os.getpid() != self.process:  # the student's fork returned here
                os._exit(0)
            reply |= {"id": request["id"], "tried": sorted(self.tried)}
            try:
                exchange.send(self.channel, reply)
            except (exchange.Unsendable, MemoryError, ValueError) as error:
                error = describe(error, None)
                exchange.send(self.channel, {"id": request["id"], "error": error})

    def setup(self, request: dict) -> dict:
        """Run the chapter's setup cell without the package and the asked names."""
        for statement in ast.parse(request["source"]).body:
            code = compile(ast.Module([statement], []), "<setup>", "exec", optimize=0)
            with contextlib.suppress(Exception):
                exec(code, self.module.__dict__)
        for name in request["asked"]:
            self.module.__dict__.pop(name, None)
        self.tried.clear()
        return {}

    def run(self, request: dict) -> dict:
        place, flags = f"<{request['cell']}>", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(request["source"], place, "exec", flags, optimize=0)
        waited = eval(code, self.module.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:  # `await` at the top level
            asyncio.run(waited)
        return {}

    def kinds(self, request: dict) -> dict:
        """The wanted names that exist, each with whether it is callable."""
        found = {n: self.module.__dict__[n] for n in request["names"] if self.has(n)}
        return {"kinds": {name: callable(value) for name, value in found.items()}}

    def has(self, name: str) -> bool:
        return name in self.module.__dict__

    def fetch(self, request: dict) -> dict:
        name = request["name"]  # once: a generator is read only once
        if name not in self.fetched:
            self.fetched[name] = exchange.encode(self.module.__dict__[name])
        return {"value": self.fetched[name]}

    def call(self, request: dict) -> dict:
        inputs, outputs = [], []

        def leaf(tensor):
            inputs.append(tensor.requires_grad_())
            return tensor

        args, kwargs = exchange.decode(request["arguments"], leaf)
        function = self.module.__dict__[request["name"]]
        with torch.set_grad_enabled(request["grad"]):
            value = function(*args, **kwargs)
        reply = {"value": exchange.encode(value, outputs)}
        if inputs and outputs:
            self.graphs[request["id"]] = inputs, outputs
        arguments = exchange.encode([list(args), kwargs])
        if arguments != request["arguments"]:
            reply["changed"] = arguments
        return reply

    def backward(self, request: dict) -> dict:
        inputs, outputs = self.graphs[request["call"]]
        given = exchange.decode(request["grads"])
        grads = torch.autograd.grad(
            outputs, inputs, given, allow_unused=True, retain_graph=True
        )
        return {"grads": exchange.encode(list(grads))}


def ignore(*args, **kwargs) -> None:
    """A notebook's ``display``, without effect."""


class Shell:
    """The result of ``get_ipython``: every method does nothing."""

    def __getattr__(self, name):
        return ignore


STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
READS = {"open", "os.listdir", "os.scandir"}
WRITES = {
    *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink"),
    *("os.truncate", "os.chmod", "os.chown", "os.utime"),
}


class PackageAbsent(Exception):
    """The student's code called a part of the package instead of writing it."""


class Absent:
    """Finds the course's package as modules whose every part raises when called."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in PACKAGES:
            return None
        return importlib.util.spec_from_loader(name, Absent, is_package=True)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        def absent(name: str):
            def part(*args, **kwargs):
                raise PackageAbsent(f"{module.__name__}.{name}")

            if name.startswith("__"):
                raise AttributeError(name)
            return part

        module.__getattr__ = absent


def describe(error: BaseException, cell: str | None) -> dict:
    """An error as data for the grader's messages."""
    kind, line, place = type(error).__name__, None, None
    if isinstance(error, SyntaxError):
        line, place = error.lineno, cell
    trace = error.__traceback__
    while trace:  # by hand: the traceback module would read files
        name = trace.tb_frame.f_code.co_filename
        if name.startswith("<cell"):
            line, place = trace.tb_lineno, name.strip("<>")
        trace = trace.tb_next
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    return {"kind": kind, "text": text, "line": line, "cell": place}


# --- the warm process --------------------------------------------------------


def main() -> None:
    """Fork a guarded child for every request on the socket."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    options = exchange.json.loads(sys.argv[2])
    opened = readable(options["hidden"])
    for name in options["modules"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    while True:
        data, handles, _, _ = socket.recv_fds(orders, 2**16, 2)
        if not data:
            return
        order = exchange.json.loads(data) | {"readable": opened}
        channel, control = (socket.socket(fileno=handle) for handle in handles)
        if os.fork() == 0:
            orders.close()
            guard(channel, control, order)
            os._exit(0)
        channel.close()
        control.close()


if __name__ == "__main__":
    main()
