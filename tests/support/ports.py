"""Ports for servers that are told their port before they bind it."""

from __future__ import annotations

import random
import socket

# Systems give ports from 32768 on to whoever asks for any: until its server binds it, nobody gets one of these so.
_OWN = range(10_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens on."""
    found: list[int] = []
    for port in random.SystemRandom().sample(_OWN, len(_OWN)):
        if len(found) == count:
            break
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found
