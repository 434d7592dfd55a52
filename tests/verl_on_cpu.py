"""verl 0.9.1's training worker on the CPU, for tests of the handover alone.

verl ships platforms for accelerators only; it is told of one more, which does nothing.
Import this before verl; it opens a gloo process group.
"""

import os
from types import SimpleNamespace

os.environ |= {
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    "WG_BACKEND": "ray",
}
os.environ.setdefault("RANK", "0")
os.environ.setdefault("WORLD_SIZE", "1")
os.environ.setdefault("LOCAL_RANK", "0")
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29512")

import torch
import torch.distributed as dist
from verl.plugin.platform.platform_cuda import PlatformCUDA
from verl.plugin.platform.platform_manager import PlatformRegistry

CPU = torch.device("cpu")
NOTHING = (
    "max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
    "reset_peak_memory_stats empty_cache synchronize set_device manual_seed "
    "manual_seed_all get_rng_state ipc_collect"
)
MODULE = SimpleNamespace(
    **{name: lambda *_, **__: 0 for name in NOTHING.split()},
    current_device=lambda: CPU,
    device_count=lambda: 1,
    is_available=lambda: True,
    mem_get_info=lambda *_: (1 << 34, 1 << 34),
    get_device_name=lambda *_: "cpu",
)


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformCUDA):
    device_name = vendor_name = property(lambda self: "cpu")
    device_module = property(lambda self: MODULE)

    def is_available(self):
        return True

    def is_platform_available(self, use_smi_check=False):
        return True

    def current_device(self):
        return CPU

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def empty_cache(self):
        pass

    def set_allocator_settings(self, settings):
        pass

    def communication_backend_name(self):
        return "gloo"

    def ray_resource_name(self):
        return "CPU"


dist.init_process_group("gloo")
