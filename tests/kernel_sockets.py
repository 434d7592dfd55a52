"""Kernels of notebooks are spoken to through files instead of ports.

A port is chosen first and bound seconds later, by the kernel; beside the servers of the
browser tests another process may have it by then, and no cell of that notebook runs.
Loaded with ``pytest -p kernel_sockets``.
"""

import tempfile
import uuid
from pathlib import Path

import nbval.kernel
from jupyter_client import KernelManager


def manager(**keywords) -> KernelManager:
    """Return a manager whose channels are files that no other kernel has."""
    ip = str(Path(tempfile.gettempdir(), f"kernel-{uuid.uuid4().hex[:12]}"))
    return KernelManager(transport="ipc", ip=ip, **keywords)


nbval.kernel.KernelManager = manager
