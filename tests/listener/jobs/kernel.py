"""Runs a cell in a kernel, as a notebook server does, and then shuts the kernel down or restarts it."""

import sys

from jupyter_client.manager import KernelManager

way, cell = sys.argv[1:]
manager = KernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(120)
print(client.execute_interactive(cell, timeout=240)["content"]["status"])
if way == "restart":
    manager.restart_kernel()
    client.wait_for_ready(120)
manager.shutdown_kernel()
