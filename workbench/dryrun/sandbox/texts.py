"""Make Python's readers of dates, times and JSON accept stand-ins, and texts that only data show."""

from __future__ import annotations

import datetime
import importlib
import json
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

_SOME_TIME = datetime.datetime(2000, 1, 1)
_BRACES = re.compile(r"\{[^{}]*\}")


def install_reading_of_texts() -> None:
    """Replace these readers, for the rest of the process."""
    _install_times()
    _install_json()


def _install_times() -> None:
    # The module with which `datetime` and `time` read texts.
    times: Any = importlib.import_module("_strptime")
    real = times._strptime

    def parsed(text: str, form: str = "%a %b %d %H:%M:%S %Y") -> Any:
        return real(_SOME_TIME.strftime(form) if _BRACES.search(text) else text, form)

    times._strptime = parsed


def _install_json() -> None:
    """Make `json` accept stand-ins too, because services usually answer in JSON."""
    encode = json.JSONEncoder.default

    def of(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(value: Any, **named: Any) -> Any:
            return StandIn(f"json({str(value)[1:-1]})") if is_unknown_text(value) else read(value, **named)

        return reading

    def default(encoder: json.JSONEncoder, value: Any) -> Any:
        return str(value) if isinstance(value, StandIn) else encode(encoder, value)

    json.loads, json.load = of(json.loads), of(json.load)
    setattr(json.JSONEncoder, "default", default)  # noqa: B010 (its type is that of a method)


def is_unknown_text(value: object) -> bool:
    """Return whether only data show what is in a value: a stand-in, or a text with the name of a column in braces."""
    if not isinstance(value, str):
        return isinstance(value, StandIn)
    return _BRACES.fullmatch(value) is not None and bool(value[1:-1].strip()) and ":" not in value
