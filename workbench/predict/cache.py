"""Keeps what Spark told of scripts: the same texts, tables and versions need no Spark again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from importlib import metadata
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.statements import Loop, ScriptStatement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from openlineage_pyspark.workbench.predict.scripts import Given, Script

_FORMAT = 6
_MOST_KEPT = 20
_ENDING = ".json"
_PACKAGES = ("openlineage-pyspark", "pyspark")


def key_of(scripts: Sequence[Script], given: Given) -> str:
    """Return a hash of all that the answers depend on: texts, what is given, and the versions of the packages."""
    versions = [metadata.version(name) for name in _PACKAGES]
    parts = [_FORMAT, versions, [attrs.asdict(each) for each in scripts], attrs.asdict(given)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def read_answers(folder: Path, key: str) -> tuple[StatementAnswer, ...] | None:
    """Return what is kept under a key; None if there is nothing, or it can't be read."""
    try:
        document = json.loads((folder / f"{key}{_ENDING}").read_text(encoding="utf-8"))
        return tuple(answer_of_document(each) for each in document)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep_answers(folder: Path, key: str, answers: Sequence[StatementAnswer]) -> None:
    """
    Keep answers under a key, and drop the oldest ones of earlier keys.

    Raises:
        OSError: the folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump([document_of_answer(each) for each in answers], file)
    # Another process may write the same one.
    os.replace(name, folder / f"{key}{_ENDING}")  # noqa: PTH105 (the name is a text)
    kept = sorted(folder.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[_MOST_KEPT:]:
        path.unlink(missing_ok=True)


def document_of_answer(answer: StatementAnswer) -> dict[str, Any]:
    """Return an answer as plain values."""
    analyzed = answer.analyzed
    return {
        "statement": attrs.asdict(answer.statement),
        "isDdl": answer.is_ddl,
        "kind": analyzed.kind,
        "plan": None if analyzed.query is None else analyzed.query.plan,
        "refusal": _document_of(analyzed.refusal),
        "missed": _document_of(analyzed.missed),
        "catalog": analyzed.catalog,
        "database": analyzed.database,
        "tables": {name: query.plan for name, query in analyzed.tables.items()},
        "text": analyzed.text,
        "fromText": [[list(parts), place] for parts, place in analyzed.from_text.items()],
        "shape": analyzed.shape,
        "targets": list(analyzed.targets),
    }


def _document_of(refusal: Refusal | None) -> dict[str, Any] | None:
    return None if refusal is None else {**attrs.asdict(refusal), "parameters": dict(refusal.parameters)}


def _refusal(document: Mapping[str, Any] | None) -> Refusal | None:
    return None if document is None else Refusal(**document)


def answer_of_document(document: Mapping[str, Any]) -> StatementAnswer:
    """Return the answer that `document_of_answer` has made plain."""
    plan = document["plan"]
    analyzed = Analyzed(
        document["kind"],
        None if plan is None else EncodedQuery(plan),
        _refusal(document["refusal"]),
        _refusal(document["missed"]),
        document["catalog"],
        document["database"],
        {name: EncodedQuery(kept) for name, kept in document["tables"].items()},
        {tuple(parts): place for parts, place in document["fromText"]},
        document["text"],
        document["shape"],
        tuple(document["targets"]),
    )
    loops = tuple(Loop(**each) for each in document["statement"]["loops"])
    statement = ScriptStatement(**{**document["statement"], "loops": loops})
    return StatementAnswer(statement, analyzed, document["isDdl"])
