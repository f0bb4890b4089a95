"""
Makes portions of rows in a second process, while this one writes those before.

To read a million events takes as much processor time as to write their rows, and Python does one of both at a time.
"""

from __future__ import annotations

import logging
import marshal
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from openlineage_pyspark.workbench.store.events.portions import EventLine, Portion, PortionMaker, line_batches
from openlineage_pyspark.workbench.store.events.rows import Description, TimeSpan

if TYPE_CHECKING:
    from types import TracebackType

# What the package logs under this name shows no secret.
_LOGGER = logging.getLogger("openlineage_pyspark")
# It has this one's modules, and neither its environment's settings of Python nor its `__main__`.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from {} import serve; serve()"
_LENGTH_BYTES = 8
# Who closed its end of a pipe has ended, or does at once.
_PATIENCE_SECONDS = 5


def portions_beside(lines: Iterable[EventLine]) -> Iterator[Portion]:
    """
    Yield the portions of lines, as `portions` does. From the second one on, they are made in a process of their own.

    Args:
        lines: the lines. Those of one portion more than needed are read.
    """
    batches = line_batches(lines)
    first, second = next(batches, None), next(batches, None)
    if first is None:
        return
    if second is None:
        yield PortionMaker().portion(first)
        return
    with _SecondProcess() as process:
        process.send(second)
        yield PortionMaker().portion(first)
        for batch in batches:
            portion = process.receive()
            process.send(batch)
            yield portion
        yield process.receive()


class _SecondProcess:
    """
    The process that makes portions. If it ends before its time, they are made here.

    It ends with this one, however that ends: then nobody writes to it any more.
    """

    def __init__(self) -> None:
        self._sent: list[EventLine] = []
        self._maker: PortionMaker | None = None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-I", "-c", _PROGRAM.format(__name__), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A Ctrl-C is for this one.
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            self._give_up(f"does not start: {problem}")

    def __enter__(self) -> _SecondProcess:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it. It holds nothing that could be lost."""
        self._end()

    def send(self, lines: list[EventLine]) -> None:
        """Let it make a portion of lines."""
        self._sent = lines
        if self._process is not None and self._process.stdin is not None:
            try:
                _write(self._process.stdin, [(line.source, line.text, line.problem) for line in lines])
            except OSError:
                self._give_up(f"ended with {self._end(_PATIENCE_SECONDS)}")

    def receive(self) -> Portion:
        """Return the portion of the lines that were sent last."""
        if self._process is not None and self._process.stdout is not None:
            try:
                return _portion_of(*_read(self._process.stdout))
            except (OSError, EOFError):
                self._give_up(f"ended with {self._end(_PATIENCE_SECONDS)}")
        if self._maker is None:
            self._maker = PortionMaker()
        return self._maker.portion(self._sent)

    def _give_up(self, problem: str) -> None:
        _LOGGER.warning(
            "The process that reads events beside the one that writes them %s. They are read here, which takes longer.",
            problem,
        )

    def _end(self, patience: float = 0) -> int | None:
        """
        End the process.

        Args:
            patience: how many seconds it has to end by itself.

        Returns:
            Its exit code; None if there was no process.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        return process.returncode


def serve() -> None:
    """Make portions of lines that come by standard input, and write them to standard output, until there are none."""
    import gc

    # What is read is no tree with cycles, and this process ends soon.
    gc.disable()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Nothing else may come between.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    maker = PortionMaker()
    try:
        while True:
            portion = maker.portion(EventLine(*line) for line in _read(sys.stdin.buffer))
            _write(answers, (portion.rows, [_values_of(each) for each in portion.descriptions]))
    except (OSError, EOFError):
        # The other process needs no more, or has ended.
        return


def _values_of(description: Description) -> tuple[Any, ...]:
    span = description.span
    when = (span.first_time, span.first_run, span.last_time, span.last_run)
    told = (description.columns, description.edges)
    return (description.job_id, description.name_id, description.digest, *told, when)


def _portion_of(rows: Any, descriptions: Iterable[tuple[Any, ...]]) -> Portion:
    return Portion(
        rows,
        tuple(
            Description(job_id, name_id, digest, columns, edges, TimeSpan(*when))
            for job_id, name_id, digest, columns, edges, when in descriptions
        ),
    )


def _write(file: IO[bytes], value: Any) -> None:
    """Write a value of numbers, texts, bytes, tuples, lists and dicts."""
    # Both ends are of one Python: to pickle such values takes three times as long.
    data = marshal.dumps(value)
    file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    file.write(data)
    file.flush()


def _read(file: IO[bytes]) -> Any:
    """
    Read a value that `_write` wrote.

    Raises:
        EOFError: nothing more was written, or not the whole of it.
    """
    length = int.from_bytes(_read_bytes(file, _LENGTH_BYTES), "big")
    return marshal.loads(_read_bytes(file, length))  # noqa: S302 (it was written by this program)


def _read_bytes(file: IO[bytes], length: int) -> bytes:
    data = file.read(length)
    if len(data) < length:
        raise EOFError("no answer")
    return data
