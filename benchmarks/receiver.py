"""
A receiver for benchmarks, in a separate process: accepts events on /api/v1/lineage and remembers their order.

`GET /report` returns the accepted events in order of arrival, each as [run id, event type, event id]; `GET /outputs`
returns the name of the first dataset that each run writes; `POST /fate` sets the fraction of requests, drawn at random,
that are answered with 500, whether or not the event was accepted.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys


class Receiver:
    """Speaks just enough HTTP/1.1 to be faster than what is measured."""

    def __init__(self, seed: int) -> None:
        self.taken: list[tuple[str, str, str]] = []
        self.outputs: dict[str, str] = {}
        self.failing = 0.0
        self.draw = random.Random(seed)  # noqa: S311 - faults, not secrets

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *headers = head.decode("latin-1").split("\r\n")
                fields = {name.lower(): value.strip() for name, _, value in (h.partition(":") for h in headers)}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                status, text = self.answer(line.split(" ")[1], body)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Accept an event, or handle another request; return status and body."""
        if path == "/report":
            return 200, json.dumps(self.taken).encode()
        if path == "/outputs":
            return 200, json.dumps(self.outputs).encode()
        if path == "/fate":
            self.failing = float(body)
            return 200, b""
        fails = self.draw.random() < self.failing
        # Half of the events whose request fails are accepted all the same, as if the answer was lost; they come again.
        if not fails or self.draw.random() < 0.5:
            event = json.loads(body)
            run = event["run"]
            own = run["facets"].get("pyspark_event", {}).get("id", "")
            self.taken.append((run["runId"], event["eventType"], own))
            if event.get("outputs"):
                self.outputs[run["runId"]] = event["outputs"][0]["name"]
        return (500 if fails else 201), b""


async def _main(port: int) -> None:
    server = await asyncio.start_server(Receiver(seed=port).serve, "127.0.0.1", port, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
