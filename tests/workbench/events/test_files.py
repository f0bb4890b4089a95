"""Events in files of any form, and in files that are damaged."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.events import files
from openlineage_pyspark.workbench.events.files import EventText, event_texts, parsed_event, texts_of_lines
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, symlink

SCENARIOS = Path(__file__).parents[4] / "shared" / "compat" / "scenarios"


def texts(text: str) -> list[tuple[int, str]]:
    """Return the lines in which what should be events begins, and their texts."""
    return [(found.line, found.text) for found in texts_of_lines(enumerate(text.split("\n"), 1))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}\n\n{"b":2}\n', [(1, '{"a":1}'), (3, '{"b":2}')]),
        ('{\n"a": {\n"b":1}\n}\n{"c":1}', [(1, '{\n"a": {\n"b":1}\n}'), (5, '{"c":1}')]),
        ('{\n"a":1}\n{\n"b":1}', [(1, '{\n"a":1}'), (3, '{\n"b":1}')]),
        ('[{"a":1},{"b":[{}]}]', [(1, '{"a":1}'), (1, '{"b":[{}]}')]),
        ('[\n{"a":1},\n{"b":2}\n]', [(2, '{"a":1}'), (3, '{"b":2}')]),
        ('[\n{\n"a":1\n},\n{"b":2}\n]\n', [(2, '{\n"a":1\n}'), (5, '{"b":2}')]),
        ('{"a":[{\n}\n]\n}', [(1, '{"a":[{\n}\n]\n}')]),
        ('{"a":"}"}\n{"b":"{"}', [(1, '{"a":"}"}'), (2, '{"b":"{"}')]),
        ('{"a":"\\"{"}\n{"b":1}', [(1, '{"a":"\\"{"}'), (2, '{"b":1}')]),
        ('{"a":1},\n{"b":2},', [(1, '{"a":1}'), (2, '{"b":2}')]),
        ('{"a":1}{"b":{}} {"c":3}\n{"d":4}', [(1, '{"a":1}'), (1, '{"b":{}}'), (1, '{"c":3}'), (2, '{"d":4}')]),
        ('{"a":1}, {"b":2}{"c":3},', [(1, '{"a":1}'), (1, '{"b":2}'), (1, '{"c":3}')]),
        ('{"a":"}{"}\n{"b":"} {"}', [(1, '{"a":"}{"}'), (2, '{"b":"} {"}')]),
        ('{\n"a":1}{"b":2}{"c":3}', [(1, '{\n"a":1}'), (2, '{"b":2}'), (2, '{"c":3}')]),
        ("[]", []),
        ("", []),
    ],
)
def test_events_are_found_in_each_form(text: str, found: list[tuple[int, str]]) -> None:
    assert texts(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}\n{"torn\n{"b":2}', [(1, '{"a":1}'), (2, '{"torn'), (3, '{"b":2}')]),
        ('{"torn":\n{"b":2}\n{"c":3}', [(1, '{"torn":'), (2, '{"b":2}'), (3, '{"c":3}')]),
        ('{"torn":1\n{"b":2}', [(1, '{"torn":1'), (2, '{"b":2}')]),
        ('{"b":2}\n{"torn":{"x":', [(1, '{"b":2}'), (2, '{"torn":{"x":')]),
        ("import x\nf {\n}\n", [(1, "import x\nf {\n}")]),
        ('7\n\n8\n{"a":1}', [(1, "7\n8"), (4, '{"a":1}')]),
        ('[1, "x", {"a":1}, [2]]', [(1, "1"), (1, '"x"'), (1, '{"a":1}'), (1, "[2]")]),
        ("}{", [(1, "}{")]),
        ('{"a":1}{"torn\n{"b":2}', [(1, '{"a":1}'), (1, '{"torn'), (2, '{"b":2}')]),
        ('{"a":1}{"torn":x}{"b":2}', [(1, '{"a":1}'), (1, '{"torn":x}'), (1, '{"b":2}')]),
        ('{"a":1} {7}{"b":2}', [(1, '{"a":1}'), (1, "{7}"), (1, '{"b":2}')]),
    ],
)
def test_what_is_torn_costs_itself_alone(text: str, found: list[tuple[int, str]]) -> None:
    assert texts(text) == found


def test_files_that_were_joined_with_their_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_bytes('\ufeff{"a":1}\n\ufeff[{"b":2}]\n'.encode())

    assert [found.text for found in event_texts(str(path))] == ['{"a":1}', '{"b":2}']


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_EVENT", 100)
    path = tmp_path / "e.ndjson"
    path.write_text(f'{{"a":1}}\n{{"b":"{"x" * 350}"}}\n{{"c":1}}\n{{\n"d": "{"y" * 90}"\n}}')

    found = [*event_texts(str(path))]
    assert [(each.line, bool(each.problem)) for each in found] == [
        (1, False),
        (2, True),
        (3, False),
        (4, True),
    ] or found
    assert (found[0], found[2]) == (EventText(1, '{"a":1}'), EventText(3, '{"c":1}'))
    assert found[1].problem == "longer than 64 MB"


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":NaN}', "[1]", "7", "{", '{"a":' * 100_000])
def test_a_text_is_an_object_of_strict_json_or_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not (JSON: |a JSON object$)"):
        parsed_event(text)


@pytest.mark.parametrize(
    ("text", "where"), [('{"a": }', "column 7"), ('{"a": 1,\n "b": }', "line 2 of the text, column 7")]
)
def test_the_place_of_a_mistake_is_counted_within_the_text(text: str, where: str) -> None:
    with pytest.raises(ValueError, match=rf"^not JSON: Expecting value at {where}$"):
        parsed_event(text)


EVENTS = [
    run_event("load", kind, minute, run="r", inputs=(dataset("s", symlinks=symlink("db.s")),), outputs=(made,))
    for made in [dataset("t", columns=("x",), columnLineage=lineage(x=[("s", "a", "IDENTITY")], _rows=[]))]
    for minute, kind in enumerate(("START", "COMPLETE"))
]


def forms(folder: Path) -> dict[str, list[str]]:
    """Write the events in each form; return the files of each one."""
    lines = "".join(f"{json.dumps(each)}\n" for each in EVENTS)
    written = {
        "lines.ndjson": lines.encode(),
        "pretty.json": "\n".join(json.dumps(each, indent=2) for each in EVENTS).encode(),
        "array.json": json.dumps(EVENTS).encode(),
        "pretty_array.json": json.dumps(EVENTS, indent="\t").encode(),
        "windows.json": b"\xef\xbb\xbf" + json.dumps(EVENTS, indent=2).replace("\n", "\r\n").encode(),
        "packed.json.gz": gzip.compress(json.dumps(EVENTS, indent=1).encode()),
    }
    for name, content in written.items():
        (folder / name).write_bytes(content)
    for number, each in enumerate(EVENTS):
        (folder / f"one{number}.json").write_text(json.dumps(each, indent=4), "utf-8")
    return {**{name: [str(folder / name)] for name in written}, "many": [str(folder / f"one{n}.json") for n in (0, 1)]}


@pytest.mark.slow
def test_show_validate_view_and_ingest_take_each_form_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: dict[str, list[str]] = {}
    for form, paths in {**forms(tmp_path), "stdin": ["-"]}.items():
        found = []
        store = tmp_path / f"{form}.db"
        packed = io.TextIOWrapper(io.BufferedReader(io.BytesIO(json.dumps(EVENTS, indent=2).encode())))
        for command in (
            ["show"],
            ["validate"],
            ["ingest", "--store", str(store)],
            ["view", "--format", "json", "-o", "-"],
        ):
            if form == "stdin" and command[0] == "view":
                continue
            monkeypatch.setattr(sys, "stdin", packed)
            packed.buffer.seek(0)
            # The facets of these events lack their producers, which `validate` says.
            assert main([*command, *paths]) == (command[0] == "validate"), (form, command)
            printed = capsys.readouterr()
            assert printed.err == ""
            counts = [line for line in printed.out.splitlines() if " in 2 events of 1 run" in line]
            found.append(counts[0] if counts else "".join(printed.out.split()).replace(str(store), "STORE"))
        with Store.open(store) as opened:
            found.append(str(opened.graph().result.to_dict()["edges"]))
        shown[form] = found if form != "stdin" else [*found[:3], shown["lines.ndjson"][3], found[3]]

    assert len(shown) == 8
    first = shown.pop("lines.ndjson")
    for found in shown.values():
        assert found == first


def test_a_file_that_is_none_of_events_is_one_row_of_rejected(tmp_path: Path) -> None:
    path, store = tmp_path / "app.json", tmp_path / "s.db"
    path.write_text("import pyspark\n" * 90)

    assert main(["ingest", str(path), "--store", str(store)]) == 1
    with Store.open(store) as opened:
        _, rows = opened.sql("SELECT source, reason FROM rejected").table()
    assert rows == [(f"{path}:1", "not JSON: Expecting value at column 1")]


@pytest.mark.skipif(not SCENARIOS.is_dir(), reason="needs the scenarios of OpenLineage's compatibility tests")
def test_openlineages_consumer_scenarios_are_taken_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """74 pretty-printed documents, each in a file of its own."""
    paths = sorted(str(path) for path in SCENARIOS.glob("*/events/*.json"))
    store = tmp_path / "s.db"

    assert main(["ingest", *paths, "--store", str(store)]) == 0
    assert "".join(capsys.readouterr().out.split()) == f"74eventsaddedto{store}"
    assert main(["show", *paths]) == 0
    assert capsys.readouterr().err == ""


STRANGE_BYTES = [b"", b"{", b"}", b"[", b"]", b'"', b"\n", b",", b"\xff", b"null", b"{}\n", b"1e999", b"\\"]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a file with a few bytes cut out, put in, or exchanged, at chance."""
    text = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(text))
        new = chance.choice(
            [b"", b"{", b"}", b"[", b"]", b'"', b"\n", b",", b"\xff", b"null", b"{}\n", b"1e999", b"\\"]
        )
        text[at : at + chance.choice([0, 1, 1, 5, 300])] = new
    return bytes(text)


@pytest.mark.slow
def test_no_damage_to_a_file_gives_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An exception of ours ends in a message; any other one would leave `main`."""
    chance = random.Random(20261125)  # noqa: S311 (tests)
    contents = [Path(path).read_bytes() for paths in forms(tmp_path).values() for path in paths]
    file, store = tmp_path / "e.json", tmp_path / "s.db"
    for number in range(100):
        file.write_bytes(damaged(contents[number % len(contents)], chance))
        for command in (
            ["show"],
            ["validate"],
            ["view", "--format", "json", "-o", "-"],
            ["ingest", "--store", str(store)],
        ):
            if number % 10 == 0 or command[0] in ("show", "validate"):
                code = main([*command, str(file)])
                assert code in (0, 1, 2)
    capsys.readouterr()


def test_lines_and_documents_of_chance_give_back_each_event_that_is_whole() -> None:
    """Whatever form the events have, and how they are mixed."""
    chance = random.Random(7)  # noqa: S311 (tests)

    def value(depth: int) -> Any:
        kind = chance.randrange(6 if depth < 4 else 3)
        if kind < 3:
            return chance.choice([1, "x", '{"', "}]", "\\", "a\nb", None, "\u2028"])
        if kind < 5:
            return {chance.choice('ab"{'): value(depth + 1) for _ in range(chance.randrange(4))}
        return [value(depth + 1) for _ in range(chance.randrange(4))]

    for _ in range(500):
        events = [{"e": value(0)} for _ in range(chance.randint(1, 5))]
        if chance.random() < 0.3:
            text = json.dumps(events, indent=chance.choice([None, 1]))
        else:
            between = chance.choice(["\n", "\n", "", " "])
            text = between.join(json.dumps(each, indent=chance.choice([None, None, 0, 2])) for each in events)
        assert [parsed_event(found) for _, found in texts(text)] == events
