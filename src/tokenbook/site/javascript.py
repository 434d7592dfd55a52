"""JavaScript at build time: V8 on a separate event loop."""

from concurrent.futures import ThreadPoolExecutor

from py_mini_racer import DEFAULT_V8_FLAGS, MiniRacer, init_mini_racer

# Where a CPU has memory protection keys, V8 locks its memory to the thread that started
# it and to the children of that thread; any other dies of it (SIGSEGV).
init_mini_racer(flags=(*DEFAULT_V8_FLAGS, "--no-memory-protection-keys"))


def javascript(program: str) -> MiniRacer:
    """Return a V8 that has run a program.

    MiniRacer binds to the asyncio loop that runs in its thread, and hangs once that
    loop is closed. Created in a new thread it gets a loop of its own.
    """
    with ThreadPoolExecutor(1) as thread:
        engine = thread.submit(MiniRacer).result()
    engine.eval(program)
    return engine
