"""What this package logs, without the secrets that the configuration holds."""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Iterable

from openlineage_pyspark import transport
from openlineage_pyspark.facets.redaction import Redaction
from openlineage_pyspark.listener.guard import LOG


class _Redacting(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._redaction = Redaction()

    def hide(self, known: Iterable[str]) -> None:
        # One application may follow another in a process, and what logs for the first may still be at it.
        every = {*self._redaction.known, *known}
        self._redaction = Redaction(known=tuple(sorted(every, key=lambda secret: (-len(secret), secret))))

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = self._redaction.text(text)
        if shown != text:
            record.msg, record.args = shown, None
        return True


_REDACTING = _Redacting()


def hide_in_logs(known: Iterable[str]) -> None:
    """
    Write `***` for credentials in whatever this package logs from now on.

    Args:
        known: what is secret wherever it stands, beside what a text itself says is one.
    """
    _REDACTING.hide(known)
    # A filter on a logger is not one on those below it. They are made here, if need be: a logger is known by its name.
    names = (module.name for module in pkgutil.iter_modules(transport.__path__, f"{transport.__name__}."))
    for logger in (LOG, *map(logging.getLogger, names)):
        logger.addFilter(_REDACTING)
