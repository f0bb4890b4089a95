"""
Read dbt's artifacts: the compiled file, the name and the columns of each model, and the order of the models.

dbt writes `manifest.json` when it compiles a project, and `catalog.json`, which has the columns of all tables, when it
writes its documentation. Neither dbt nor a connection is needed to read them.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.predict.project.order import inputs_first
from openlineage_pyspark.workbench.predict.project.python_models import is_python_model
from openlineage_pyspark.workbench.predict.project_code import code_of_model, text_of_config
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, in_backticks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.predict.project_code import ProjectCode


_SNAPSHOT = "snapshot"
_MODELS = frozenset({"model", _SNAPSHOT})
_VIEWS = frozenset({"view", "materialized_view"})
# dbt puts the query of such a model into the models that read it.
_WITHOUT_TABLE = frozenset({"ephemeral", "test"})
_CATALOG = "catalog.json"


@attrs.frozen
class Model:
    """
    A model of a project.

    Args:
        id: its id, such as `model.shop.orders`.
        parts: the name of its table: its catalog, its schema and its own name.
        path: the path of its compiled file within `target/compiled`.
        is_view: whether it is a view.
        reads: the ids of its inputs, also through ephemeral models.
        compiled: its query as dbt has compiled it; empty if it is unknown.
        is_snapshot: whether it is a snapshot.
        config: its configuration, as a text.
    """

    id: str
    parts: tuple[str, ...]
    path: PurePath
    is_view: bool
    reads: tuple[str, ...] = ()
    compiled: str = ""
    is_snapshot: bool = False
    config: str = ""

    @property
    def table(self) -> str:
        """Return the name of its table, in backticks."""
        return ".".join(map(in_backticks, self.parts))

    @property
    def head(self) -> str:
        """Return the text before its query that creates its table."""
        return f"CREATE {'VIEW' if self.is_view else 'TABLE'} {self.table} AS "


@attrs.frozen
class Exposure:
    """
    A user of the tables of a project, such as a dashboard.

    Args:
        name: its name.
        type: the type, such as `dashboard`.
        owner: its owner: a name, an address, or both.
        file: the file that describes it.
        reads: the names of the tables that it reads.
    """

    name: str
    type: str
    owner: str
    file: str
    reads: tuple[tuple[str, ...], ...]

    @property
    def label(self) -> str:
        """Return what people call it."""
        return f"{self.type} {self.name}{f' of {self.owner}' if self.owner else ''}"


@attrs.frozen
class Project:
    """
    A dbt project.

    Args:
        models: its models, each after those that it reads.
        tables: the sources, seeds and other tables whose columns are known.
        exposures: the users of its tables.
        seeds: the full names of the tables that dbt loads from files, each with its file and a text that changes with
            its content or its configuration.
    """

    models: tuple[Model, ...]
    tables: tuple[DeclaredTable, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    seeds: tuple[tuple[str, str, str], ...] = ()


def read_project(manifest: Path, text: str | None = None) -> Project:
    """
    Return the project of a manifest, with the columns of the catalog beside it, if there is one.

    Args:
        manifest: the file.
        text: its content in a revision; None to read it.

    Raises:
        TextError: it can't be read, or is not a dbt manifest.
    """
    document = _document(manifest, text)
    nodes = document.get("nodes")
    if not isinstance(nodes, dict):
        raise TextError(f"{manifest} is not a dbt manifest: it has no nodes", path=str(manifest))
    try:
        by_id = {each.id: each for each in (_model(node, nodes) for node in nodes.values() if _is_model(node))}
        models = tuple(by_id[id_] for id_ in inputs_first({id_: each.reads for id_, each in by_id.items()}))
        catalog = manifest.with_name(_CATALOG)
        described = _document(catalog) if catalog.is_file() else {}
        sources = [*dict(document.get("sources", {})).values(), *(each for each in nodes.values() if _is_seed(each))]
        tables = tuple(_tables(sources, described))
        named = {each["unique_id"]: _parts(each) for each in (*nodes.values(), *sources) if "schema" in each}
        exposures = tuple(_exposure(each, named) for each in dict(document.get("exposures") or {}).values())
        seeds = tuple(_seed(each) for each in nodes.values() if _is_seed(each))
    except (AttributeError, KeyError, TypeError) as problem:
        raise TextError(f"{manifest} is not a valid dbt manifest: {problem!r}", path=str(manifest)) from problem
    return Project(models, tables, exposures, seeds)


def scripts_of_models(scripts: Iterable[Script], project: Project, *, is_compared: bool = False) -> list[Script]:
    """
    Return the scripts of compiled models, which create their tables, in the order in which dbt runs them.

    Other scripts follow unchanged; dbt's tests and ephemeral models, which make no table, are left out. dbt writes no
    compiled file for a snapshot: its query comes from the manifest.

    Args:
        scripts: the scripts.
        project: the project.
        is_compared: whether they are compared with another state, for which the configuration of each model counts too.
    """

    def code_of(model: Model) -> ProjectCode | None:
        return code_of_model(model.config, loads=project.seeds) if is_compared else None

    found: dict[str, Script] = {}
    others = []
    scripts = list(scripts)
    for script in scripts:
        model = _of_path(PurePath(script.name), project.models)
        if model is not None:
            text = script.text if is_compiled(script.name) or not model.compiled else model.compiled
            is_python = is_python_model(script)
            head, table = ("", model.table) if is_python else (model.head, "")
            found[model.id] = attrs.evolve(script, head=head, model=table, text=text, project=code_of(model))
        elif script.is_ddl or not is_compiled(script.name):
            others.append(script)
    if any(is_compiled(script.name) for script in scripts):
        made = (each for each in project.models if each.id not in found and each.is_snapshot and each.compiled)
        found |= {
            each.id: Script(str(PurePath(*each.path.parts[1:])), each.compiled, head=each.head, project=code_of(each))
            for each in made
        }
    ordered = [found[model.id] for model in project.models if model.id in found]
    return [*(each for each in others if each.is_ddl), *ordered, *(each for each in others if not each.is_ddl)]


def _of_path(path: PurePath, models: Sequence[Model]) -> Model | None:
    parts = path.parts
    own = (each.path.parts if is_compiled(str(path)) else each.path.parts[1:] for each in models)
    return next((model for model, end in zip(models, own, strict=True) if parts[-len(end) :] == end), None)


def is_compiled(name: str) -> bool:
    """Return whether a file is one of those that dbt has compiled."""
    parts = PurePath(name).parts
    return any(parts[at : at + 2] == ("target", "compiled") for at in range(len(parts) - 1))


def _document(path: Path, text: str | None = None) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8") if text is None else text)
    except OSError as problem:
        raise TextError(f"{path} can't be read: {problem.strerror}", path=str(path)) from problem
    except (RecursionError, ValueError) as problem:
        raise TextError(f"{path} is not valid JSON: {problem}", path=str(path)) from problem
    return document if isinstance(document, dict) else {}


def _is_model(node: Mapping[str, Any]) -> bool:
    kind = dict(node.get("config") or {}).get("materialized", "")
    return node.get("resource_type") in _MODELS and kind not in _WITHOUT_TABLE


def _is_seed(node: Mapping[str, Any]) -> bool:
    return node.get("resource_type") == "seed"


def _model(node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> Model:
    kind = dict(node.get("config") or {}).get("materialized", "")
    path = PurePath(node["package_name"], node["original_file_path"].replace("\\", "/"))
    reads = tuple(dict.fromkeys(_reads(node, nodes, set())))
    compiled = node.get("compiled_code") or ""
    is_snapshot, config = node["resource_type"] == _SNAPSHOT, text_of_config(dict(node.get("config") or {}))
    return Model(node["unique_id"], _parts(node), path, kind in _VIEWS, reads, compiled, is_snapshot, config)


def _seed(node: Mapping[str, Any]) -> tuple[str, str, str]:
    name = ".".join(_parts(node)).removeprefix(f"{SPARK_CATALOG}.")
    config = text_of_config({key: node.get(key) for key in ("checksum", "config")})
    return name, str(node.get("original_file_path") or "manifest.json"), config


def _reads(node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], seen: set[str]) -> Iterator[str]:
    """Yield the ids of a node's inputs; the query of an ephemeral model is part of its readers' queries."""
    for each in dict(node.get("depends_on") or {}).get("nodes") or ():
        inner = nodes.get(each)
        if inner is None or inner.get("resource_type") not in _MODELS or _is_model(inner):
            yield each
        elif each not in seen:
            seen.add(each)
            yield from _reads(inner, nodes, seen)


def _exposure(node: Mapping[str, Any], named: Mapping[str, tuple[str, ...]]) -> Exposure:
    owner = dict(node.get("owner") or {})
    address = owner.get("email") or ""
    name = owner.get("name") or ""
    reads = dict(node.get("depends_on") or {}).get("nodes") or ()
    return Exposure(
        str(node["name"]),
        str(node.get("type") or "exposure"),
        f"{name} <{address}>" if name and address else str(name or address),
        str(node.get("original_file_path") or "manifest.json"),
        tuple(named[each] for each in reads if each in named),
    )


def _parts(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the full name of a node's table."""
    name = node.get("alias") or node.get("identifier") or node["name"]
    return (node.get("database") or SPARK_CATALOG, node["schema"], name)


def _tables(nodes: Iterable[Mapping[str, Any]], catalog: Mapping[str, Any]) -> Iterator[DeclaredTable]:
    """Yield the tables whose columns are all known: the manifest itself may name only some columns."""
    described = {**dict(catalog.get("nodes", {})), **dict(catalog.get("sources", {}))}
    for node in nodes:
        columns = dict(dict(described.get(node["unique_id"], {})).get("columns", {})).values()
        placed = sorted(columns, key=lambda each: each.get("index", 0))
        typed = tuple((str(each["name"]), str(each.get("type") or "STRING")) for each in placed)
        if typed:
            yield DeclaredTable(_parts(node), typed)
