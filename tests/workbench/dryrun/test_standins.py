"""Stand-ins for what only data know, and for modules that reach other systems."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown, UnknownNames, UnknownRows
from openlineage_pyspark.workbench.dryrun.patches.standins import RowText, plain_row, row_of
from openlineage_pyspark.workbench.dryrun.patches.streams import FinishedQuery
from openlineage_pyspark.workbench.dryrun.sandbox.calls import caller
from openlineage_pyspark.workbench.dryrun.sandbox.handled import compiled_code, text_of_error
from openlineage_pyspark.workbench.dryrun.sandbox.modules import NoPairs, NoRows, StandIn, guarded_imports
from openlineage_pyspark.workbench.dryrun.sandbox.shown import shown_length
from openlineage_pyspark.workbench.dryrun.sandbox.texts import install_reading_of_texts
from openlineage_pyspark.workbench.dryrun.script.counts import Literal, count_of, number_from, plain_number
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_count_tells_each_decision_and_each_text_of_it() -> None:
    told: list[str] = []
    count = count_of(lambda: told.append("decided"), writes=lambda: told.append("written"))
    assert f"{count} rows, {count + 1:03}, {count - count!r}" + str(count / 2) == "1 rows, 002, 00.5"
    assert told == ["written"] * 4
    told.clear()
    assert json.dumps([count]) == "[1]"
    assert [count > 0, count == 0, bool(count), count + 1 < 5, not (count - count)] == [True, False, True, True, True]
    assert len(told) == 5


def test_what_is_computed_from_a_count_tells_each_decision_too() -> None:
    told: list[str] = []
    count = count_of(lambda: told.append("decided"))
    source = (
        "found = [bad / total, round(100.0 * bad / total, 1), float(bad) / 4, 8 - total, int(bad * 2), 1 / (bad - bad)]"
    )
    names = {"bad": count, "total": count, "_openlineage_number_from": number_from, "_openlineage_literal": Literal}
    exec(compiled_code(source, "job.py"), names)  # noqa: S102 (our own text)
    found: Any = names["found"]
    assert list(map(str, found)) == ["1.0", "100.0", "0.25", "7", "2", "0.0"]
    assert told == []
    assert [each > 5 for each in found] == [False, True, False, True, False, False]
    assert len(told) == 6
    assert (number_from(int, "7"), number_from(str, count)) == (7, "1")


def test_a_stand_in_takes_every_use_and_says_what_it_stands_for() -> None:
    client = StandIn("boto3").client("s3")
    assert str(client.get_object(Bucket="b")["Body"].read()) == "{boto3.client().get_object()[Body].read()}"
    assert f"s3a://{client.bucket}/x" == "s3a://{boto3.client().bucket}/x"
    assert list(client.list()) == []
    key, name = client.login()
    first, *rest, last = client.all()
    assert [str(key), str(name)] == ["{boto3.client().login()[0]}", "{boto3.client().login()[1]}"]
    assert [str(first), str(last)] == ["{boto3.client().all()[0]}", "{boto3.client().all()[1]}"]
    assert rest == []
    assert (int(client.size), 3 * client.size <= 2, Path("in", client.name)) == (
        1,
        False,
        Path("in/{boto3.client().name}"),
    )
    with client.open() as opened:
        opened.write("x")


USING = """
import asyncio
absent = StandIn("framework")

def find(client: absent.Client | None = None) -> absent.Row:
    del client.cache["x"], client.first
    return next(client.rows())

async def ask():
    async with absent.Session() as session:
        return await session.get("x")

async def ask_all():
    return await asyncio.gather(ask(), ask())

first, order = find(absent), absent.one >> absent.two >> [absent.three]
answers = asyncio.run(ask_all())
try:
    raise ValueError
except (absent.errors.NotFoundError, ValueError):
    caught = True
checked = isinstance("x", absent.Client), isinstance(first, absent.Client)

class Settings(absent.BaseModel, absent.Mixin, table=True):
    source: str = "raw"
    target: str

class Job(absent.Job):
    def __init__(self, name):
        super().__init__(name, retries=2)
        self.name = name

@absent.frozen
class Paths:
    base: str
    kind: str = "csv"

settings, job = Settings(target="out"), Job("nightly")
"""


def test_a_stand_in_is_a_base_a_type_and_a_decorator_of_a_class_and_is_awaited() -> None:
    names: dict[str, Any] = {"StandIn": StandIn, "__name__": __name__}
    exec(USING, names)  # noqa: S102 (our own text)
    assert [str(names["first"]), [str(each) for each in names["answers"]]] == [
        "{next(framework.rows())}",
        ["{framework.Session().get()}"] * 2,
    ]
    assert (names["caught"], names["checked"]) == (True, (False, True))
    settings, job, paths = names["settings"], names["job"], names["Paths"]("in")
    assert [settings.source, settings.target, str(settings.secret)] == ["raw", "out", "{Settings.secret}"]
    assert [job.name, job.retries, str(job.logger.info("x"))] == ["nightly", 2, "{Job.logger.info()}"]
    assert (paths.base, paths.kind) == ("in", "csv")


DECIDING = """\
answer = StandIn("requests").get("https://example.com")
taken = []
if answer.status_code != 200:
    taken.append("failed")
if answer.text == "ready" and answer:
    taken.append("ready")
while answer.state != "done":
    taken.append("waits")
for page in answer.pages:
    taken.append(f"reads {page}")
if "x" in answer.names or answer.size >= 5:
    taken.append("large")
if answer.error in (None, "") or answer.ok == False or answer.code != 0:
    taken.append("nothing")
"""


@pytest.mark.parametrize(("maker", "reported"), [("ALS", ["STAND_IN"]), ("KMeans", [])])
def test_a_model_that_joins_what_it_has_learned_is_reported(maker: str, reported: list[str]) -> None:
    models = pytest.importorskip("openlineage_pyspark.workbench.dryrun.patches.models", exc_type=ImportError)
    found: list[str] = []
    stage = SimpleNamespace(problem=lambda code, _: found.append(code))
    rows = SimpleNamespace(columns=["user", "item"])

    made = models.Fitted(stage, type(maker, (), {})(), []).transform(rows, lambda *_: None)

    assert (made, found) == (rows, reported)


@pytest.mark.parametrize(
    ("flipped", "taken"),
    [
        ((), ["ready"]),
        (("job.py:3", "job.py:9", "job.py:11"), ["failed", "ready", "reads {requests.get().pages[0]}", "large"]),
    ],
)
def test_each_decision_on_a_stand_in_is_reported_and_may_go_the_other_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flipped: tuple[str, ...], taken: list[str]
) -> None:
    with (tmp_path / "records").open("w+b") as records:
        request = ScriptRequest("job.py", "/job.py", DECIDING, (), "/", "", "/", flipped=flipped)
        monkeypatch.setattr(StandIn, "stage", Stage(request, records.fileno()))
        names: dict[str, Any] = {"StandIn": StandIn}
        exec(compile(DECIDING, "/job.py", "exec"), names)  # noqa: S102 (a script, as in a dry run)
        # A library that compares one decides nothing.
        library = compile('found = [value == "x", value != "x", bool(value), len(value)]', json.__file__, "exec")
        exec(library, of_library := {"value": StandIn("a")})  # noqa: S102 (as above)
        assert of_library["found"] == [False, True, True, 0]
    lines = [json.loads(line) for line in (tmp_path / "records").read_text("utf-8").splitlines()]
    about = [(each["spot"]["line"], each["message"].partition(", which is ")[2].partition(":")[0]) for each in lines]
    assert names["taken"] == taken
    expected = {
        3: ["to be 200"],
        5: ["to be 'ready'", "to be true"],
        7: ["to be 'done'"],
        9: ["to be empty"],
        11: ["to be without 'x'", "to be below 5"],
        13: ["to be other than None", "to be other than ''", "to be other than False", "to be 0"],
    }
    others = {int(each.partition(":")[2]) for each in flipped}
    assert about == [
        (line, f"assumed {'not ' if line in others else ''}{each}")
        for line, every in expected.items()
        for each in (every[:1] if line in others else every)
    ]


WRITING = """
n = stage.number("count()")
print("rows:", n, f"{n + 1} of {n}", "%s and %d" % (n, n), "a" + str(n), *[n])
log.info(f"{n} rows"); log.info("%s rows", n)
path = f"out/batch_{n}"
other = "a" + str(n * 2)
try:
    raise ValueError(f"{n} rows")
except ValueError as problem:
    log.error(problem)
message = "{} rows".format(n)
library(n)
"""


def test_a_text_with_a_number_of_rows_is_reported_unless_it_is_only_shown(tmp_path: Path) -> None:
    told: list[object] = []
    with (tmp_path / "records").open("w+b") as records:
        stage = Stage(ScriptRequest("job.py", "/job.py", WRITING, (), "/", "", "/"), records.fileno())
        log = SimpleNamespace(info=lambda *given: told.append(given), error=told.append)
        library = eval(compile("lambda value: f'{value}'", json.__file__, "eval"))  # noqa: S307 (our own text)
        names = {"stage": stage, "log": log, "library": library, "_openlineage_shown": plain_number}
        exec(compiled_code(WRITING, "/job.py"), names)  # noqa: S102 (our own text)
    lines = [json.loads(line) for line in (tmp_path / "records").read_text("utf-8").splitlines()]
    found = [(each["spot"]["line"], each["code"]) for each in lines if each["k"] == "problem"]
    assert found == [(3, "STAND_IN"), (5, "STAND_IN"), (6, "STAND_IN"), (11, "STAND_IN")]
    message = "a text contains count(), which is assumed to be 1: in a real run it is another text"
    assert {each["message"] for each in lines if each["k"] == "problem"} == {message}
    assert names["path"] == "out/batch_1"
    assert told[:2] == [("1 rows",), ("%s rows", 1)]


SHOWING = """
rows = taken[:]
print("rows:", len(rows), f"{len(rows)} of {len([1])}", "%s and %s" % (len(rows), "more"), "a" + str(len(rows)))
log.info("{} rows".format(len(rows)))
path = f"part-{len(rows)}"
if len(rows) > 0 or print(len(rows) == 1):
    pass
for at in range(len(rows)):
    pass
def len(value):
    return -1
print(len(rows))
"""


@pytest.mark.parametrize("taken", [StandIn("rows"), NoRows()])
def test_a_length_that_is_only_shown_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: Any
) -> None:
    told: list[str] = []
    with (tmp_path / "records").open("w+b") as records:
        stage = Stage(ScriptRequest("job.py", "/job.py", SHOWING, (), "/", "", "/"), records.fileno())
        monkeypatch.setattr(StandIn, "stage", stage)
        log = SimpleNamespace(info=told.append)
        names = {"taken": taken, "log": log, "_openlineage_length_is_shown": shown_length, "len": len}
        names["_openlineage_shown"] = plain_number
        exec(compiled_code(SHOWING, "/job.py"), names)  # noqa: S102 (our own text)
    lines = [json.loads(line) for line in (tmp_path / "records").read_text("utf-8").splitlines()]
    assert [each["spot"]["line"] for each in lines] == [5, 6, 8]
    assert told == ["0 rows"]
    assert capsys.readouterr().out.splitlines() == ["rows: 0 0 of 1 0 and more a0", "False", "-1"]


LOOPING = """
for row in rows:
    made.append(row[0])
for key, value in rows:
    made.append((str(key), str(value)))
if rows:
    made.append("some")
first, kept = rows[0], dict(rows)
for key in pairs:
    made.append(key)
for key, value in pairs.items():
    made.append(value)
"""


@pytest.mark.parametrize(
    ("flipped", "made"),
    [
        ((), []),
        (
            tuple(f"job.py:{at}" for at in (2, 4, 6, 9, 11)),
            ["{row[0]}", "('{row[0]}', '{row[1]}')", "some", "{key}", "{row[1]}"],
        ),
    ],
)
def test_a_loop_over_the_rows_of_an_rdd_is_a_decision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flipped: tuple[str, ...], made: list[str]
) -> None:
    """It does not run, and what it would write is unknown, unless the other way is asked for."""
    with (tmp_path / "records").open("w+b") as records:
        request = ScriptRequest("job.py", "/job.py", LOOPING, (), "/", "", "/", flipped=flipped)
        monkeypatch.setattr(StandIn, "stage", Stage(request, records.fileno()))
        names: dict[str, Any] = {"rows": NoRows(), "pairs": NoPairs(), "made": []}
        exec(compile(LOOPING, "/job.py", "exec"), names)  # noqa: S102 (a script, as in a dry run)
    lines = [json.loads(line) for line in (tmp_path / "records").read_text("utf-8").splitlines()]

    assert list(map(str, names["made"])) == made
    assert (str(names["first"]), names["kept"]) == ("{row[0]}", {})
    assert [(each["code"], each["spot"]["line"]) for each in lines] == [("DECISION", at) for at in (2, 4, 6, 8, 9, 11)]


def test_a_module_that_a_script_can_do_without_is_not_replaced() -> None:
    source = "import a\ntry:\n    import b.c\n    from d.e import f\nexcept ImportError:\n    b = None\n"
    assert guarded_imports(source) == {"b", "d"}
    assert guarded_imports("def (") == frozenset()


def test_a_function_that_a_stand_in_decorates_does_its_work() -> None:
    flow = StandIn("prefect")

    @flow.task(retries=3)
    @flow.logged
    def load(day: str, *more: str, folder: str, kind: str = "csv") -> str:
        """Load a day."""
        return f"{folder}/{day}.{kind}{more}"

    assert load("monday", folder="in") == "in/monday.csv()"
    assert load("a", "b", kind="json", folder="in") == "in/a.json('b',)"
    # What the decorator gives is not known.
    assert load() == "{folder}/{day}.csv()"
    assert (load.__name__, load.__doc__) == ("load", "Load a day.")
    assert str(inspect.signature(load)).startswith("(day: ")


def test_a_method_that_a_stand_in_decorates_is_a_method() -> None:
    retry = StandIn("tenacity.retry")

    class Job:
        name = "orders"

        @retry
        def path(self, day: str) -> str:
            return f"{self.name}/{day}"

    assert Job().path("monday") == "orders/monday"
    assert Job().path() == "orders/{day}"


def test_each_error_that_a_handler_of_all_errors_takes_is_told() -> None:
    source = """
from __future__ import annotations
for what in ("1 / 0", "{}['x']", "int('x')", "undefined", "[][1]"):
    try:
        eval(what)
    except KeyError:
        pass
    except (ValueError, Exception):
        done.append(what)
    else:
        done.append("nothing")
    finally:
        done.append("finally")
try:
    raise SystemExit
except:
    pass
"""
    told: list[str] = []
    done: list[str] = []
    names = {"done": done, "_openlineage_error_is_handled": lambda: told.append(type(sys.exc_info()[1]).__name__)}
    exec(compiled_code(source, "job.py"), names)  # noqa: S102 (our own text)
    assert told == ["ZeroDivisionError", "ValueError", "NameError", "IndexError", "SystemExit"]
    assert done == ["1 / 0", "finally", "finally", "int('x')", "finally", "undefined", "finally", "[][1]", "finally"]


def test_an_unknown_view_hides_no_table_of_another_database() -> None:
    names = UnknownNames()
    names.put_view("Orders", Unknown(places=("p",)))
    names.put_table(("spark_catalog", "shop", "items"))
    assert names.of(("orders",), ("spark_catalog", "default", "orders")) == Unknown(places=("p",))
    assert names.of(("global_temp", "orders"), ("global_temp", "orders")) == Unknown(places=("p",))
    assert names.of(("shop", "orders"), ("spark_catalog", "shop", "orders")) is None
    assert names.of(("Shop", "ITEMS"), ("spark_catalog", "Shop", "ITEMS")) is not None
    assert (names.drop_view("ORDERS"), names.drop_view("orders")) == (True, False)
    names.drop_table(("spark_catalog", "shop", "items"))
    assert names.of(("shop", "items"), ("spark_catalog", "shop", "items")) is None


def test_the_rows_of_an_rdd_without_known_columns_are_one_row_of_stand_ins() -> None:
    rows = UnknownRows(object())
    assert [rows.take(10)[0].price, rows.first()[0], [each.day for each in rows.collect()]] == [
        "{price}",
        "{0}",
        ["{day}"],
    ]


def test_an_error_of_the_jvm_is_told_without_its_stack() -> None:
    java = (
        "An error.\n: org.example.SparkException: aborted\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        "\tat org.example.RDD.iterator(RDD.scala:338)\nCaused by: java.io.IOException: no file\n\t... 31 more\n"
    )
    assert text_of_error(ValueError(java)) == (
        "ValueError: An error. : org.example.SparkException: aborted Caused by: java.io.IOException: no file"
    )
    assert text_of_error(ValueError("look\n  at the rows")) == "ValueError: look at the rows"


READING = """
import io, json, time
from datetime import datetime
day = datetime.strptime(row["day"][:10], "%Y-%m-%d"), time.strptime(row.day.split("T")[0], "%H:%M").tm_hour
folder, name = row["path"].rsplit("/", 1)
third, number = row["path"].split("/")[3], int(row.number.replace("n", "")) + float(row["number"])
settings = json.loads(row["settings"])["columns"]
color, second = row["props"]["color"], row["items"][1]["sku"]
whole = json.loads('{"a": 1}'), datetime.strptime("2026-01-02", "%Y-%m-%d").day
answer, opened = json.loads(client.answer.text)["id"], json.load(client.open("f"))
sent, read = json.dumps({"id": client.id}), json.load(io.StringIO("[1]"))
plain = json.loads("{}"), json.loads(b'{"b": 2}')
"""


class OneRow(tuple[Any, ...]):
    """A row with names, like those of Spark."""

    __fields__: tuple[str, ...]

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(self.__fields__.index(at) if isinstance(at, str) else at)

    def __getattr__(self, name: str) -> Any:
        return self[name]


def one_row(*names: str) -> Any:
    """Return a function that makes a row of its values."""

    def made(*values: Any) -> OneRow:
        found = OneRow(values)
        found.__fields__ = names
        return found

    return made


@contextlib.contextmanager
def readers_of_texts() -> Iterator[None]:
    """Use the replaced readers of texts."""
    times: Any = importlib.import_module("_strptime")
    texts: Any = json
    real = times._strptime, texts.loads, texts.load, texts.JSONEncoder.default
    install_reading_of_texts()
    try:
        yield
    finally:
        times._strptime, texts.loads, texts.load, texts.JSONEncoder.default = real


def test_a_text_of_a_row_can_be_read_as_anything() -> None:
    text = SimpleNamespace(typeName=lambda: "string")
    item = SimpleNamespace(typeName=lambda: "struct", fields=[SimpleNamespace(name="sku", dataType=text)])
    types = {
        **dict.fromkeys(("day", "path", "number", "settings"), text),
        "props": SimpleNamespace(typeName=lambda: "map", keyType=text, valueType=text),
        "items": SimpleNamespace(typeName=lambda: "array", elementType=item),
    }
    schema = SimpleNamespace(fields=[SimpleNamespace(name=name, dataType=each) for name, each in types.items()])
    row = row_of(schema, one_row)
    stage = Stage(ScriptRequest("job.py", "/job.py", "", (), "/", "", "/"), -1)
    given = {"_openlineage_call": caller(stage), "_openlineage_number_from": number_from}
    names: dict[str, Any] = {"row": row, "client": StandIn("api"), **given}
    with readers_of_texts():
        exec(compiled_code(READING, "job.py"), names)  # noqa: S102 (our own text)
    assert stage.gave_dates
    assert names["day"] == (datetime.datetime(2000, 1, 1), 0)
    assert [names["folder"], names["name"], names["third"], names["number"]] == ["{path}", "{path}", "{path}", 2.0]
    assert [str(names["settings"]), names["color"], names["second"]] == [
        "{json(settings)[columns]}",
        "{props}",
        "{sku}",
    ]
    assert names["whole"] == ({"a": 1}, 2)
    assert [str(names["answer"]), str(names["opened"])] == ["{json(api.answer.text)[id]}", "{json(api.open())}"]
    assert [names["sent"], names["read"], names["plain"]] == ['{"id": "{api.id}"}', [1], ({}, {"b": 2})]
    plain = plain_row(row)
    assert [type(plain.day), plain.props, list(plain["items"][0]), type(plain["items"])] == [
        str,
        {"{props}": "{props}"},
        ["{sku}"],
        list,
    ]


UNKNOWN_ARGUMENTS = r"""
import datetime, re
from datetime import date, timedelta
from decimal import Decimal
form = re.compile(r"(\d+)_(\w+)")
number = int(form.match(name).group(1))
folder = re.search("x/(.*)/", client.path)[1]
renamed = [re.sub(r"\W", "_", name), form.sub("", client.path), re.sub(r"\{(\w+)\}", r"<\1>", "{mine}")]
environment = re.fullmatch("dev|prod", "{ENV}").group()
own = (re.match("a", "b"), re.findall(r"\d", "a1b2"), form.split("a1_bc"))
joined = (",".join(["a", client.key, name]), "-".join("ab"))
days = [datetime.datetime.strptime(client.day, "%Y%m%d"), date.fromisoformat(name), datetime.time.fromisoformat(name)]
later = date(2020, 1, 1) + timedelta(days=client.days)
amount = Decimal(name) + Decimal("2")
"""
UNKNOWN_TABLES = """
import pandas as pd
tables = [pd.DataFrame(client.rows), pd.DataFrame({"a": client.a}), pd.concat([pd.DataFrame({"a": [1]}), client.more])]
merged = pd.DataFrame({"a": [1]}).merge(client.rows, on="a")
known = pd.DataFrame({"a": [1]}).merge(pd.DataFrame({"a": [1], "b": [2]})).columns.tolist()
"""


def test_functions_that_refuse_stand_ins_get_something_else() -> None:
    stage = Stage(ScriptRequest("job.py", "/job.py", "", (), "/", "", "/"), -1)
    given = {"_openlineage_call": caller(stage), "_openlineage_number_from": number_from}
    names: dict[str, Any] = {"name": RowText("{name}"), "client": StandIn("api"), **given}
    with readers_of_texts():
        exec(compiled_code(UNKNOWN_ARGUMENTS, "job.py"), names)  # noqa: S102 (our own text)
    assert [str(names[each]) for each in ("number", "folder", "environment")] == [
        "1",
        "{search(api.path)[1]}",
        "{fullmatch(ENV).group()}",
    ]
    assert list(map(str, names["renamed"])) == ["{name}", "{api.path}", "<mine>"]
    assert names["own"] == (None, ["1", "2"], ["a", "1", "bc", ""])
    assert names["joined"] == ("a,{api.key},{name}", "a-b")
    some_time = datetime.datetime(2000, 1, 1)
    assert names["days"] == [some_time, some_time.date(), datetime.time()]
    assert (names["later"], names["amount"]) == (datetime.date(2020, 1, 2), 3)
    assert stage.gave_dates


def test_pandas_makes_stand_ins_of_stand_ins(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    with (tmp_path / "records").open("wb") as file:
        stage = Stage(ScriptRequest("job.py", "/job.py", "", (), "/", "", "/"), file.fileno())
        names: dict[str, Any] = {"client": StandIn("api"), "_openlineage_call": caller(stage)}
        exec(compiled_code(UNKNOWN_TABLES, "job.py"), names)  # noqa: S102 (our own text)
    assert list(map(str, [*names["tables"], names["merged"]])) == [
        "{pandas.DataFrame(api.rows)}",
        "{pandas.DataFrame(api.a)}",
        "{pandas.concat(api.more)}",
        "{pandas.merge(api.rows)}",
    ]
    assert names["known"] == ["a", "b"]
    assert [
        json.loads(each)["message"].partition(",")[0] for each in (tmp_path / "records").read_text("utf-8").splitlines()
    ] == [
        "DataFrame of pandas gets {api.rows}",
        "DataFrame of pandas gets {api.a}",
        "concat of pandas gets {api.more}",
        "merge of pandas gets {api.rows}",
    ]


def test_the_progress_of_a_stream_is_a_stand_in() -> None:
    query = FinishedQuery()
    assert str(query.lastProgress["numInputRows"]) == "{lastProgress[numInputRows]}"
    assert str(query.recentProgress[-1]["sink"]) == "{recentProgress[-1][sink]}"


def test_a_table_function_has_the_columns_that_its_analyze_returns_for_unknown_arguments() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    module = importlib.import_module("openlineage_pyspark.workbench.dryrun.patches.table_functions")
    words = types.StructType().add("word", "string")
    told: list[tuple[str, str]] = []
    stage = SimpleNamespace(problem=lambda code, message: told.append((code, message)))

    class Fixed:
        @staticmethod
        def analyze(_text: Any, *, _by: Any = None) -> Any:
            return SimpleNamespace(schema=words)

    class Asking:
        @staticmethod
        def analyze(text: Any) -> Any:
            return SimpleNamespace(schema=words if text.isTable else types.StructType())

    class Typed:
        @staticmethod
        def analyze(text: Any) -> Any:
            return SimpleNamespace(schema=types.StructType().add("same", text.dataType))

    class Dividing:
        @staticmethod
        def analyze(_table: Any) -> Any:
            return SimpleNamespace(schema=words, partitionBy=["a"])

    assert [module.columns_of(stage, each.__name__, each) for each in (Fixed, Asking, Typed, Dividing)] == [
        words,
        words,
        None,
        words,
    ]
    of_unknown = "are what its analyze() returns for unknown arguments"
    assert told == [
        ("STAND_IN", f"the columns of the table function Asking {of_unknown}"),
        (
            "UNKNOWN_SCHEMA",
            "the columns of the table function Typed are unknown: its analyze() needs the types of its arguments",
        ),
        ("STAND_IN", f"the columns of the table function Dividing {of_unknown}"),
    ]


def test_a_plot_whose_backend_is_not_installed_is_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyspark")
    module = importlib.import_module("openlineage_pyspark.workbench.dryrun.patches.plots")
    core = importlib.import_module(module.PLOTS)

    def missing(_: str | None) -> Any:
        raise ImportError

    monkeypatch.setattr(core, "_get_plot_backend", missing)
    told: list[str] = []
    module.install_plots(SimpleNamespace(problem=lambda _, message: told.append(message)))
    frame = pandas.DataFrame({"a": [1]})
    assert isinstance(frame.plot(x="a", kind="bar"), StandIn)
    assert isinstance(frame.hist(), StandIn)
    assert told == ["the module matplotlib is not installed: what it returns is unknown"] * 2
