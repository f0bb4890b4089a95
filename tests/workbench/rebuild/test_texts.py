"""What decides about an uncompiled model of dbt, and how statements that are known by their texts are compared."""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any

import attrs
import pytest
from openlineage_pyspark.command.change import unshown_changes
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.project.dbt import read_project, scripts_of_models
from openlineage_pyspark.workbench.predict.project.raw_models import scripts_of_raw_models
from openlineage_pyspark.workbench.predict.project_code import changed_code, code_of_project
from openlineage_pyspark.workbench.predict.scripts import (
    Script,
    StatementAnswer,
    StatementLineage,
    lineage_of_answers,
    statements_in,
)
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.rebuild.plan import rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import loads_of_projects, steps_of_answers
from openlineage_pyspark.workbench.rebuild.statements import FileStep

FILES = {
    "dbt_project.yml": "name: shop\nvars: {day: '2026-01-01'}\n",
    "macros/cents.sql": "{% macro cents(column) %} ({{ column }} * 100) {% endmacro %}",
    "macros/any.sql": "{% macro any() %} {% set rows = run_query('select 1') %} {% endmacro %}",
    "macros/outer.sql": "{% macro outer_any() %} {{ any() }} {% endmacro %}",
    "macros/parts.sql": "{% macro part(kind) %} select * from {{ ref('stg_' ~ kind) }} {% endmacro %}",
    "models/schema.yml": "models: [{name: paid, description: The paid ones}]\nsources: [{name: raw, tables: [o]}]",
    "models/stg_orders.sql": "select id, {{ cents('amount') }} as amount from {{ source('raw', 'o') }}",
    "models/stg_people.sql": "select id from {{ source('raw', 'p') }}",
    "models/paid.sql": "select id, amount from {{ ref('stg_orders') }} where day = '{{ var('day') }}'",
    "models/people.sql": "select id from {{ ref('stg_people') }}",
    "models/composed.sql": "{{ part('people') }}",
    "models/hooked.sql": "{{ config(post_hook='delete from x') }} select id from {{ source('raw', 'h') }}",
    "models/later.sql": "select 1 as a {% if is_incremental() %} where a > 1 {% endif %}",
    "models/unsure.sql": "select {{ outer_any() }} as x",
    "seeds/kinds.csv": "id,kind\n1,a\n",
    "models/kinded.sql": "select kind from {{ ref('kinds') }}",
    "snapshots/kept.sql": "{% snapshot kept %}{{ config() }}select * from {{ ref('paid') }}{% endsnapshot %}",
    "models/of_kept.sql": "select id from {{ ref('kept') }}",
}
ALL = frozenset(
    {"hooked", "later", "stg_orders", "stg_people", "paid", "people", "composed", "unsure", "kinded", "kept", "of_kept"}
)
ENDS = (".sql", ".py", ".yml", ".csv")


def scripts(folder: Path, files: dict[str, str]) -> list[Script]:
    """Return the scripts of a project whose files have some texts, in the order in which they run."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    read = [Script(str(folder / name), text) for name, text in files.items() if name.endswith(ENDS)]
    return scripts_of_raw_models([each for each in read if each.name.endswith(".sql")], lambda _project: read)


def steps(found: list[Script]) -> tuple[FileStep, ...]:
    """Return the statements of scripts, of which only the texts are known."""
    answers = []
    for each, is_ddl in statements_in(found):
        name = each.text.split("`")[1] if each.text.startswith("CREATE TABLE `") else ""
        analyzed = Analyzed("", refusal=Refusal("X", "x"), targets=(f"default.{name}",) if name else ())
        answers.append(StatementAnswer(each, analyzed, is_ddl))
    return (*loads_of_projects(found), *steps_of_answers(answers, (), found))


def made(folder: Path, changed: dict[str, str]) -> set[str]:
    """Return the tables to make again after a change of files."""
    before = steps(scripts(folder, FILES))
    after = steps(scripts(folder, {**FILES, **changed}))
    return {each.table.removeprefix("default.") for each in rebuild_plan(before, after).made}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("models/people.sql", "select id + 1 as id from {{ ref('stg_people') }}", {"people", "composed", "unsure"}),
        ("models/stg_people.sql", "select 2 as id", {"stg_people", "people", "composed", "unsure"}),
        ("models/paid.sql", "select 1 as id", {"paid", "kept", "of_kept", "unsure"}),
        ("seeds/kinds.csv", "id,kind\n1,b\n", {"kinds", "kinded", "unsure"}),
        ("snapshots/kept.sql", "{% snapshot kept %}select 1 as id{% endsnapshot %}", {"kept", "of_kept"}),
        # What they change in models is unknown.
        ("macros/cents.sql", "{% macro cents(c) %} ({{ c }} * 1000) {% endmacro %}",
         {"stg_orders", "paid", "kept", "of_kept", "composed", "unsure"}),
        ("dbt_project.yml", "name: shop\nvars: {day: '2026-01-02'}\n", ALL),
        ("macros/cents.sql", "{% macro generate_schema_name(c) %} x {% endmacro %}", ALL),
        ("models/schema.yml", "models: [{name: paid, config: {materialized: incremental}}]", ALL),
        ("models/hooked.sql", FILES["models/hooked.sql"].replace("from x", "from y"), {"hooked", "unsure"}),
        ("models/hooked.sql", FILES["models/hooked.sql"].replace("config(", "config( "), set()),
        ("models/later.sql", FILES["models/later.sql"].replace("> 1", "> 2"), {"later", "unsure"}),
        ("snapshots/kept.sql", FILES["snapshots/kept.sql"].replace("config()", "config(unique_key='id')"),
         {"kept", "of_kept"}),
        # A variable may have the name of a property for people.
        ("dbt_project.yml", FILES["dbt_project.yml"].replace("day: '2026-01-01'", "day: '2026-01-01', tags: 1"), ALL),
        # People read it, and nothing else does.
        ("models/schema.yml", FILES["models/schema.yml"].replace("The paid ones", "Those that are paid"), set()),
    ],
)  # fmt: skip
def test_a_model_stays_if_its_text_and_all_that_decides_about_it_stay(
    tmp_path: Path, name: str, text: str, expected: set[str]
) -> None:
    assert made(tmp_path, {name: text}) == expected


def test_a_model_in_python_that_is_run_is_not_what_every_model_may_need(tmp_path: Path) -> None:
    python = "def model(dbt, session):\n    return dbt.ref('paid')"
    scripts(tmp_path, FILES)
    read = [Script(str(tmp_path / name), text) for name, text in {**FILES, "models/of_code.py": python}.items()]
    sql = [each for each in read if each.name.endswith(".sql")]
    code = [each for each in read if each.name.endswith((".sql", ".py"))]
    for given, expected in ((code, ["kinds"]), (sql, ["kinds", "of_code"])):
        found = scripts_of_raw_models(given, lambda _project: read)
        assert sorted(each.text for each in loads_of_projects(found)) == expected


def test_the_changed_files_that_decide_about_models_are_named(tmp_path: Path) -> None:
    before = scripts(tmp_path, FILES)
    after = scripts(tmp_path, {**FILES, "macros/cents.sql": "", "models/paid.sql": "select 1"})
    states = [[each.project for each in state if each.project is not None] for state in (before, after)]
    assert changed_code(*states) == (str(tmp_path / "macros" / "cents.sql"),)
    assert changed_code(states[0], states[0]) == ()


def test_properties_that_can_not_be_parsed_count_as_they_are() -> None:
    def code(text: str) -> str:
        return code_of_project("p", [PurePath("models")], {PurePath("models/a.yml"): text}).of_all

    assert code("{description: a}") == code("{description: b}")
    assert code("{% if x %}description: a") != code("{% if x %}description: b")


def test_properties_that_repeat_parts_of_themselves_are_not_followed() -> None:
    lines = ["a0: &a0 [x]", *(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 30))]
    found = code_of_project("p", [PurePath("models")], {PurePath("models/a.yml"): "\n".join(lines)})
    assert {"a0", "a29"} <= found.names


@pytest.mark.parametrize("folder", [".", "..", "../models"])
def test_a_project_is_found_around_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    scripts(tmp_path, FILES)
    monkeypatch.chdir(tmp_path / "models")
    read = [Script(str(tmp_path / name), text) for name, text in FILES.items()]
    (model,) = scripts_of_raw_models([Script(f"{folder}/people.sql", "select 1")], lambda _project: read)
    if folder == "..":
        assert model.project is None
        return
    assert model.project is not None
    assert model.project.loads[0][:2] == ("kinds", "../seeds/kinds.csv")


def test_a_link_to_a_model_is_a_model_of_the_project_in_which_it_is(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    scripts(tmp_path / "shop", FILES)
    (tmp_path / "shared.sql").write_text("select 1", "utf-8")
    (tmp_path / "shop" / "models" / "linked.sql").symlink_to(tmp_path / "shared.sql")
    (model,) = scripts_of_raw_models([Script(str(tmp_path / "shop" / "models" / "linked.sql"), "select 1")])
    assert model.head == "CREATE TABLE `linked` AS "


def of_text(text: str, *targets: str) -> StatementAnswer:
    """Return a statement that Spark can't analyze."""
    ((statement, _),) = statements_in([Script("a.sql", text)])
    return StatementAnswer(statement, Analyzed("", refusal=Refusal("X", "x"), targets=targets), is_ddl=False)


@pytest.mark.parametrize(
    ("query", "is_made"),
    [
        ("SELECT * FROM b.orders", True),
        ("SELECT * FROM orders_v2", False),
        ("SELECT * FROM people QUALIFY 1 = 1", False),
        ("SELECT * FROM other", True),
        ("SELECT * FROM people -- not of orders", False),
        ("SELECT * FROM IDENTIFIER(:x)", True),
        ("SELECT * FROM ${t}", True),
        ("SELECT * FROM p.`orders_*`", True),
        ("SELECT f(x) FROM people", True),
        ("SELECT a:b, a[0]:c, d::int FROM people", False),
        ("SELECT table_name FROM information_schema.tables", True),
        ("SELECT user_id FROM people", False),
    ],
)
def test_a_statement_known_by_its_text_reads_what_its_text_may_name(query: str, is_made: bool) -> None:  # noqa: FBT001
    def found(orders: str) -> tuple[FileStep, ...]:
        answers = [
            of_text(f"CREATE TABLE orders AS {orders}", "default.orders"),
            of_text("CREATE TABLE people AS SELECT 1 QUALIFY 2", "default.people"),
            of_text("CREATE SYNONYM other FOR orders", "default.other"),
            of_text("SELECT x FROM orders QUALIFY 3"),
            of_text(f"CREATE TABLE last AS {query}", "default.last"),
        ]
        routine = "CREATE FUNCTION f(x INT) RETURNS INT AS SELECT max(a) FROM orders" if "f(x)" in query else ""
        return steps_of_answers(answers, (), [Script("a.sql", ""), Script("f.sql", routine)])

    plan = rebuild_plan(found("SELECT 1 QUALIFY 4"), found("SELECT 2 QUALIFY 4"))
    assert ("default.last" in {each.table for each in plan.made}) is is_made
    assert "default.orders" in {each.table for each in plan.made}
    # Any statement may call the function.
    assert ("default.people" in {each.table for each in plan.made}) is ("f(x)" in query)


def node(name: str, kind: str, config: dict[str, Any], content: str = "", code: str = "") -> dict[str, Any]:
    """Return a node of a manifest."""
    return {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "package_name": "shop",
        "original_file_path": f"{kind}s/{name}.sql",
        "schema": "mart",
        "name": name,
        "config": config,
        "checksum": {"name": "sha256", "checksum": content},
        "compiled_code": code,
    }


NODES = {
    "paid": node("paid", "model", {"materialized": "incremental", "unique_key": "id", "tags": ["a"]}),
    "kinded": node("kinded", "model", {"materialized": "table"}),
    "kinds": node("kinds", "seed", {}, "1"),
    "kept": node("kept", "snapshot", {"strategy": "check"}, code="select id from mart.paid"),
}


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("kinds", {"checksum": {"name": "sha256", "checksum": "2"}}, {"mart.kinds", "mart.kinded"}),
        ("kinds", {"config": {"delimiter": ";"}}, {"mart.kinds", "mart.kinded"}),
        ("paid", {"config": {**NODES["paid"]["config"], "unique_key": "day"}}, {"mart.paid", "mart.kept"}),
        ("paid", {"config": {**NODES["paid"]["config"], "post-hook": ["delete"]}}, {"mart.paid", "mart.kept"}),
        ("paid", {"config": {**NODES["paid"]["config"], "tags": ["b"]}}, set()),
        ("kept", {"compiled_code": "select 1 as id from mart.paid"}, {"mart.kept"}),
        ("kept", {"config": {"strategy": "timestamp"}}, {"mart.kept"}),
    ],
)
def test_a_compiled_model_depends_on_its_configuration_and_on_the_files_that_dbt_loads(
    tmp_path: Path, name: str, changed: dict[str, Any], expected: set[str]
) -> None:
    files = {"paid": "select id from raw.o", "kinded": "select kind from mart.kinds"}
    compiled = [Script(f"target/compiled/shop/models/{each}.sql", text) for each, text in files.items()]

    def state(nodes: dict[str, dict[str, Any]]) -> tuple[FileStep, ...]:
        text = json.dumps({"nodes": {str(each["unique_id"]): each for each in nodes.values()}})
        found = scripts_of_models(compiled, read_project(tmp_path / "manifest.json", text), is_compared=True)
        answers = []
        for each, is_ddl in statements_in(found):
            target = ".".join(each.text.split("`")[3:6:2])
            answers.append(StatementAnswer(each, Analyzed("", refusal=Refusal("X", "x"), targets=(target,)), is_ddl))
        return (*loads_of_projects(found), *steps_of_answers(answers, (), found))

    after = state({**NODES, name: {**NODES[name], **changed}})

    assert {each.table for each in rebuild_plan(state(NODES), after).made} == expected


def test_a_model_in_python_may_read_every_other_one(tmp_path: Path) -> None:
    python = {"models/py.py": "def model(dbt, session): return dbt.ref('paid')", "models/z.sql": "select * from `py`"}
    before = steps(scripts(tmp_path, {**FILES, **python}))
    other = {"models/py.py": "def model(dbt, session): return dbt.ref('people')"}
    after = steps(scripts(tmp_path, {**FILES, **python, **other}))
    assert {each.table for each in rebuild_plan(before, after).made} == {"default.py", "default.z", "default.unsure"}
    assert rebuild_plan(before, before).made == ()


def test_a_seed_is_a_step_of_its_own(tmp_path: Path) -> None:
    (first, *_) = steps(scripts(tmp_path, FILES))
    assert attrs.evolve(first, code="") == FileStep(
        str(tmp_path / "seeds" / "kinds.csv"), 1, "kinds", "load", targets=("default.kinds",),
        may_read=frozenset(), is_known=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE TABLE t AS SELECT max(a) AS a FROM s QUALIFY 1 = 1", ("a.sql:2",)),
        # The change of the edge is shown.
        ("CREATE TABLE t AS SELECT b AS a FROM s QUALIFY 1 = 1", ()),
        ("create table t AS SELECT min(a) AS a -- the least\nFROM s QUALIFY 1 = 1", ()),
    ],
)
def test_a_changed_text_that_shows_no_change_is_named(text: str, expected: tuple[str, ...]) -> None:
    def found(changed: str) -> tuple[StatementLineage, ...]:
        script = Script("a.sql", f"SELECT a FROM s QUALIFY 2 = 2;\n{changed}")
        refused = Analyzed("", refusal=Refusal("X", "x"))
        return lineage_of_answers(
            [StatementAnswer(each, refused, is_ddl) for each, is_ddl in statements_in([script])], ()
        )

    before = found("CREATE TABLE t AS SELECT min(a) AS a FROM s QUALIFY 1 = 1")
    assert unshown_changes(before, found(text)) == expected
