"""
Declarative pipelines: `pyspark.pipelines`, and `dlt` of Databricks.

A pipeline's script defines tables, views and flows, and runs none of them. Each of them runs here when the script has
ended, or as soon as another one reads its output: so they run in the order of their dependencies.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, module_of
from openlineage_pyspark.workbench.dryrun.script.records import Spot
from openlineage_pyspark.workbench.predict.sql.statements import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.dryrun.empty_spark.world import World
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_LIVE = "live."
_NAMING = (TokenKind.WORD, TokenKind.NAME)
_HEAD = 8


@attrs.define
class _Flow:
    """A function of the script, or a statement, that makes a table or a view."""

    target: str
    spot: Spot
    make: Callable[[], None]
    is_done: bool = False


class ScriptPipeline:
    """
    The definitions of a script.

    Args:
        world: the session.
        stage: the stage of the script.
    """

    def __init__(self, world: World, stage: Stage) -> None:
        self._world = world
        self._stage = stage
        self._flows: list[_Flow] = []
        self._sinks: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def install(self) -> None:
        """Put these functions into the modules from which a script imports them."""
        self._world.reads.maker, self._world.reads.plain_name = self.make, without_live
        given = {
            "table": self._decorator(self._write),
            "materialized_view": self._decorator(self._replace),
            "temporary_view": self._decorator(self._view),
            "append_flow": self._append_flow,
            "create_streaming_table": self._declare,
            "create_sink": self._sink,
            "create_auto_cdc_flow": self._changes,
        }
        module = module_of("pyspark.pipelines", **given)
        sys.modules["pyspark.pipelines"] = module
        if (parent := sys.modules.get("pyspark")) is not None:
            vars(parent)["pipelines"] = module
        if "dlt" not in self._stage.request.allowed:
            every = {
                **given,
                "view": given["temporary_view"],
                "create_table": given["table"],
                "create_view": given["temporary_view"],
                "create_target_table": self._declare,
                "create_streaming_live_table": self._declare,
                "apply_changes": self._changes,
                "read": self._read,
                "read_stream": self._read,
            }
            expectations = dict.fromkeys(_EXPECTATIONS, _expectation)
            sys.modules["dlt"] = module_of("dlt", **every, **expectations, __getattr__=StandIn)

    def define(self, target: str, spot: Spot, make: Callable[[], None]) -> None:
        """Remember the function that makes a table or a view."""
        self._world.session.forget(self._world.reads.whole(target))
        self._flows.append(_Flow(target, spot, make))

    def flows(self) -> Iterator[Callable[[], None]]:
        """Yield a function for each flow: it runs the flow, unless that has run already."""
        for flow in self._flows:
            yield functools.partial(self._run, flow)

    def define_statements(self, text: str, file: str) -> None:
        """Remember the tables and views that SQL statements make."""
        for each in statements_of(text, file):
            words = [token.text for token in tokens(each.text) if token.kind in _NAMING]
            head = [word.upper() for word in words[:_HEAD]]
            begin = next((head.index(word) + 1 for word in ("INTO", "VIEW", "TABLE") if word in head), None)
            if begin is not None:
                begin += 3 * (head[begin : begin + 3] == ["IF", "NOT", "EXISTS"])
                name = dotted(each.text[each.text.index(words[begin]) :].split()[0].split("(")[0])
                spot = Spot(file, each.line, each.text.splitlines()[0])
                self.define(".".join(name or (words[begin],)), spot, functools.partial(self._state, each.text))

    def _state(self, text: str) -> None:
        """Record a statement, after the flows of the tables and views that it names."""
        words = {token.text.strip("`").lower() for token in tokens(text)}
        for flow in self._flows:
            if flow.target.rpartition(".")[2].lower() in words:
                self._run(flow)
        self._world.statements.record(text)

    def make(self, name: str) -> bool:
        """Make the table or view of this name; return whether the pipeline defines it and had not made it yet."""
        key = self._world.reads.whole(without_live(name))
        found = [each for each in self._flows if not each.is_done and self._world.reads.whole(each.target) == key]
        for each in found:
            self._run(each)
        return bool(found)

    def _run(self, flow: _Flow) -> None:
        if not flow.is_done:
            # This is set before the flow runs: one that reads its own output gets the columns that are known so far.
            flow.is_done = True
            with self._stage.at(flow.spot):
                flow.make()

    def _spot(self, function: Any) -> Spot:
        code = function.__code__
        return self._stage.spot_of(code.co_filename, code.co_firstlineno)

    def _decorator(self, write: Callable[[str, Any, Mapping[str, Any]], None]) -> Callable[..., Any]:
        def decorator(function: Any = None, /, *, name: str | None = None, **options: Any) -> Any:
            def defined(made: Any) -> Any:
                target = without_live(name or made.__name__)
                self.define(target, self._spot(made), lambda: write(target, made(), options))
                return made

            return defined if function is None else defined(function)

        return decorator

    def _append_flow(self, *, target: str, **_: Any) -> Any:
        def defined(made: Any) -> Any:
            self.define(without_live(target), self._spot(made), lambda: self._write(without_live(target), made(), {}))
            return made

        return defined

    def _write(self, name: str, frame: Any, options: Mapping[str, Any]) -> None:
        """Record rows that are added to a table or a sink."""
        if name in self._sinks:
            format_, given = self._sinks[name]
            frame.write.format(format_).options(**given).save()
            return
        self._world.writes.write_table(frame, name, "append", tuple(options.get("partition_cols") or ()))

    def _replace(self, name: str, frame: Any, options: Mapping[str, Any]) -> None:
        self._world.writes.write_table(frame, name, "create", tuple(options.get("partition_cols") or ()))

    def _view(self, name: str, frame: Any, _: Mapping[str, Any]) -> None:
        frame.createOrReplaceTempView(name)

    def _declare(self, name: str, *_: Any, **__: Any) -> None:
        """Accept a table that flows fill: they define its columns."""

    def _sink(self, name: str, format: str, options: Mapping[str, Any] | None = None) -> None:  # noqa: A002
        self._sinks[name] = (format, dict(options or {}))

    def _changes(self, target: str, source: str, keys: Iterable[Any] = (), **options: Any) -> None:
        spot = self._stage.spot()

        def make() -> None:
            frame = self._read(source)
            dropped = options.get("except_column_list") or ()
            if Unknown.of(frame) is None and dropped:
                frame = frame.drop(*dropped)
            message = f"changes are applied by key ({', '.join(map(str, keys))}): their effect on rows has no edges"
            self._stage.problem("STAND_IN", message)
            self._write(without_live(target), frame, {})

        self.define(without_live(target), spot, make)

    def _read(self, name: str, *_: Any, **__: Any) -> Any:
        return self._world.spark.table(without_live(name))


_EXPECTATIONS = tuple(f"expect{many}{then}" for many in ("", "_all") for then in ("", "_or_drop", "_or_fail"))


def _expectation(*_: Any, **__: Any) -> Any:
    """Return a decorator that changes nothing, because only the data show which rows meet an expectation."""
    return lambda function: function


def without_live(name: str) -> str:
    """Return a name without Databricks' schema `LIVE`."""
    return name[len(_LIVE) :] if name.lower().startswith(_LIVE) else name
