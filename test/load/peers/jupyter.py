"""Starts a fresh Jupyter kernel for each request and runs one cell in it. One JSON line in, one out.

usage: jupyter.py KERNEL_PYTHON
"""

import json
import sys
import time

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager


class FreshKernel(KernelManager):
    """A kernel of the interpreter under test, without a kernel spec on disk."""

    python = sys.executable

    @property
    def kernel_spec(self):
        return KernelSpec(
            argv=[self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="fresh",
            language="python",
        )


def run(code):
    manager = FreshKernel()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive(code, timeout=60, output_hook=lambda message: None)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(str(reply["content"]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


FreshKernel.python = sys.argv[1]
for line in sys.stdin:
    start = time.perf_counter()
    run(json.loads(line)["code"])
    print(json.dumps({"ms": (time.perf_counter() - start) * 1e3}), flush=True)
