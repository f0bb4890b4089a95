"""The documents say what is so: their tables, links and keys, and what their examples give."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.trace import expressions, operators
from openlineage_pyspark.listener.settings.catalog import find_key
from support.sources import tree_of

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = Path(__file__).parents[1]
ROOMS = ("command", "facets", "listener", "transport", "workbench")
README = (REPOSITORY / "README.md").read_text("utf-8")
PAGES = [
    page.relative_to(REPOSITORY).as_posix()
    for place in (".", "docs")
    for page in sorted((REPOSITORY / place).glob("*.md"))
]
LONGEST_README = 200
LONGEST_GLOSSARY = 40


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openlineage_pyspark_documents", REPOSITORY / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generate()


def text_of(page: str) -> str:
    """Return the text of a page, by its path in the repository."""
    return (REPOSITORY / page).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """Return what stands below a heading of the second level."""
    _, found, rest = text_of(page).partition(f"\n## {heading}\n")
    assert found, f"{page} has no section {heading!r}"
    return rest.partition("\n## ")[0]


def fences(language: str, page: str = "README.md") -> list[str]:
    """Return a page's blocks of one language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)
    return [text for name, text in blocks if name == language]


def only(blocks: list[str]) -> str:
    """Return the one block there is."""
    (block,) = blocks
    return block


JOB = only([block for block in fences("python") if "appName" in block])
LINEAGE = only([block for block in fences("python", "docs/lineage.md") if "import lineage" in block])


@pytest.mark.parametrize("path", GENERATE.documents(REPOSITORY))
def test_what_is_made_from_the_code_is_what_the_code_says(path: str):
    text = (REPOSITORY / path).read_text("utf-8")
    assert text == GENERATE.documents(REPOSITORY)[path], f"{path} is not up to date; run: {GENERATE.COMMAND}"


def test_the_command_writes_what_is_stale_and_then_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "pyproject.toml").touch()
    for folder in ("conf", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs/operators.md").write_text(text_of("docs/operators.md").replace("`Project`", "`Projekt`"), "utf-8")
    transports = text_of("docs/transports.md").replace("| `kafka` |", "| `kafak` |")
    (tmp_path / "docs/transports.md").write_text(transports, "utf-8")
    store = text_of("docs/store-tables.md").replace("### event", "### evnt")
    (tmp_path / "docs/store-tables.md").write_text(store, "utf-8")
    made = GENERATE.documents(REPOSITORY)
    assert GENERATE.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [f"{p} is not up to date; run {GENERATE.COMMAND}" for p in made]
    assert GENERATE.main(["--write", str(tmp_path)]) == 0
    assert {path: (tmp_path / path).read_text("utf-8") for path in made} == made
    capsys.readouterr()
    assert GENERATE.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_command_refuses_a_folder_that_is_not_the_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        GENERATE.main(["--write", str(tmp_path)])
    assert f"{tmp_path} is not the root of the repository" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "rules",
    [GENERATE.by_simple_name(operators.RULES), expressions.RULES, GENERATE.by_simple_name(registry.WRITES)],
    ids=["op", "expr", "write"],
)
def test_every_class_with_a_rule_stands_in_a_table(rules: dict):
    assert [name for name in rules if f"`{name}`" not in text_of("docs/operators.md")] == []


@pytest.mark.parametrize("page", [*PAGES, "listener/probe/PROTOCOL.md"])
def test_every_link_to_a_file_or_a_heading_leads_somewhere(page: str):
    text = (REPOSITORY / page).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = REPOSITORY / page if not path else (REPOSITORY / page).parent / path
        assert file.exists(), f"{page} links to {target}"
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE) if anchor else []
        slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert not anchor or anchor in slugs, f"{page} links to {target}"


@pytest.mark.parametrize(
    ("page", "heading", "rows"), [("README.md", "Use it", 3), ("docs/getting-started.md", "Switch it on", 10)]
)
def test_the_keys_of_the_first_pages_are_keys_that_work(page: str, heading: str, rows: int):
    cells = re.findall(r"^\| (`.*?) \|", section(page, heading), re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert len(cells) == rows
    keys = {name: find_key(name.replace("<name>", "columnLineage")) for name in names}
    assert [name for name, key in keys.items() if key is None] == []


def test_the_page_for_auditors_shows_the_code_of_the_hook_file():
    line = (REPOSITORY / "openlineage_pyspark.pth").read_text("utf-8")
    calls = [node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call)]
    (executed,) = [ast.literal_eval(call.args[0]) for call in calls if is_exec(call)]
    shown, *_ = fences("python", "docs/start-up.md")
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(executed))
    variables = set(re.findall(r"PYTHON_WORKER_FACTORY_\w+", line))
    assert {name for name in variables if f"`{name}`" not in text_of("docs/start-up.md")} == set()


def is_exec(node: ast.Call) -> bool:
    """Return whether a call is one of `exec`."""
    return isinstance(node.func, ast.Name) and node.func.id == "exec"


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_installed_by_the_name_of_the_package_which_no_index_has_yet(page: str):
    assert re.findall(r"pip install[^`\n]* '?openlineage-pyspark", text_of(page)) == []


def test_no_message_says_to_install_the_package_by_its_name():
    sources = (
        file for room in ("command", "facets", "listener", "transport") for file in (REPOSITORY / room).rglob("*.py")
    )
    assert [
        file.name for file in sources if re.search(r"pip install '?openlineage-pyspark", file.read_text("utf-8"))
    ] == []


def test_the_readme_is_short():
    assert len(README.splitlines()) <= LONGEST_README


def test_every_page_can_be_reached_from_the_readme():
    links = {page: re.findall(r"\]\((?!https?:)([^)#\s]+)", text_of(page)) for page in PAGES}
    reached, new = set(), {"README.md"}
    while new:
        reached |= new
        there = {(Path(page).parent / target).as_posix() for page in new for target in links[page]}
        new = (there & set(PAGES)) - reached
    assert set(PAGES) - reached == set()


def test_the_files_that_the_architecture_page_sends_a_reader_to_are_there():
    rows = re.findall(r"^\| .*\?[^|]* \| (.*) \|$", section("docs/architecture.md", "Where do I look?"), re.MULTILINE)
    assert len(rows) >= 8
    for row in rows:
        files = re.findall(r"`([\w./-]+/[\w./-]*)`", row)
        assert files, row
        assert [file for file in files if not (REPOSITORY / file).exists()] == []


def test_the_tests_that_keep_the_promises_are_there():
    rows = re.findall(r"^\| \*\*.*", section("docs/architecture.md", "Promises"), re.MULTILINE)
    assert len(rows) >= 8
    for row in rows:
        files = re.findall(r"`(tests/[\w./-]+)`", row)
        assert files, row
        assert [file for file in files if not (REPOSITORY / file).exists()] == []


def test_the_glossary_is_short_and_explains_each_word_once():
    words = re.findall(
        r"^\| \*\*(.+?)\*\*", text_of("docs/glossary.md").partition("## Words to avoid")[0], re.MULTILINE
    )
    assert 15 <= len(words) <= LONGEST_GLOSSARY
    assert words == sorted(set(words), key=str.lower)


def differences(shown, real, where: str = "event") -> list[str]:
    """Return where a shortened event says what the real one doesn't; ids are those of another run."""
    if where.endswith(".runId"):
        return []
    if isinstance(shown, dict):
        absent = [f"{where}.{key} is not there" for key in shown if key not in real]
        return absent + [
            p for key in shown if key in real for p in differences(shown[key], real[key], f"{where}.{key}")
        ]
    if isinstance(shown, list):
        return [
            f"{where} has no such item: {item}" for item in shown if all(differences(item, other) for other in real)
        ]
    return [] if shown == real else [f"{where} is {real!r}, not {shown!r}"]


class Shop:
    """One run of the README's job and `lineage` call, with the README's keys."""

    def __init__(self, folder: Path) -> None:
        keys = dict(re.findall(r"--conf (\S+)=(\S+) ", section("README.md", "Use it")))
        assert list(keys) == [f"spark.openlineage.{n}" for n in ("transport.type", "transport.location", "namespace")]
        conf = {**keys, "spark.master": "local[1]", "spark.ui.enabled": "false"}
        arguments = " ".join(f"--conf {key}={value}" for key, value in conf.items())
        environment = {"PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell", "PYSPARK_PYTHON": sys.executable}
        script = folder / "app.py"
        script.write_text(JOB + LINEAGE, "utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.printed = done.stdout
        events = (folder / "events.ndjson").read_text("utf-8").replace(str(folder), "/srv/shop")
        self.events = [json.loads(line) for line in events.splitlines()]
        (folder / "shown.ndjson").write_text(events, "utf-8")
        self.shown = subprocess.run(
            [sys.executable, "-m", "openlineage_pyspark", "show", "shown.ndjson", "--dataset", "revenue"],
            cwd=folder,
            # A width in the environment would cut the lines.
            env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout


@pytest.fixture(scope="module")
def shop(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Run the examples once."""
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.any_spark
def test_the_job_makes_eight_events(shop: Shop):
    assert [event["eventType"] for event in shop.events] == ["START", *["START", "COMPLETE"] * 3, "COMPLETE"]
    assert "makes eight events" in text_of("docs/events.md")


@pytest.mark.any_spark
def test_the_event_is_that_of_a_real_run(shop: Shop):
    shown = json.loads(only(fences("json", "docs/events.md")))
    real = [e for e in shop.events if (e["job"]["name"], e["eventType"]) == (shown["job"]["name"], shown["eventType"])]
    assert len(real) == 1
    assert differences(shown, real[0]) == []


def test_a_shortened_event_that_says_something_else_is_found():
    """The comparison above can fail."""
    real = {"a": [{"b": 1, "c": 2}, {"b": 3}], "runId": "x"}
    assert differences({"a": [{"b": 1}], "runId": "y"}, real) == []
    assert differences({"a": [{"b": 2}]}, real) == ["event.a has no such item: {'b': 2}"]
    assert differences({"d": 1}, real) == ["event.d is not there"]


@pytest.mark.any_spark
def test_the_table_of_lineage_is_what_it_prints(shop: Shop):
    assert shop.printed.rstrip("\n").endswith(
        only([block for block in fences("text", "docs/lineage.md") if "(every row)" in block]).rstrip("\n")
    )


@pytest.mark.any_spark
def test_the_picture_of_the_readme_is_what_show_prints(shop: Shop):
    """Of the list of runs below it the README shows nothing: it says how long they took."""
    picture = only([block for block in fences("") if "openlineage-pyspark show" in block])
    command, _, table = picture.partition("\n")
    assert command == "$ openlineage-pyspark show events.ndjson --dataset revenue"
    assert table.strip() == shop.shown.partition("\nRUNS on ")[0].strip()


# Documents that are made from the code follow it.
AVOIDED_IN = [page for page in PAGES if page not in {"docs/glossary.md", "docs/matrix.md", "docs/operators.md"}]
# As `docs/glossary.md` lists them. What a regular expression can't tell from good English is left to a reader.
AVOIDED = re.compile(
    r"\b(told|tells?|stands? (?:in|as|there)|wish(?:es)?|anew|remarks?|in the place of|of one's own|lies (?:in|below))"
    r"\b"
)


def without_code(text: str) -> str:
    """Return a page's prose: no blocks of code, nothing in backquotes."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("page", AVOIDED_IN)
def test_a_page_is_written_in_the_words_of_the_glossary(page: str):
    assert AVOIDED.findall(without_code(text_of(page))) == []


SOURCES = [
    *(REPOSITORY / name for name in ("__init__.py", "auto.py", "errors.py", "testing.py")),
    *sorted(source for room in ROOMS for source in (REPOSITORY / room).rglob("*.py")),
]


def texts_of(source: Path) -> list[str]:
    """Return the messages and the docstrings of a module, without what is in backquotes and the names of arguments."""
    texts = [node.value for node in ast.walk(tree_of(source)) if isinstance(node, ast.Constant)]
    said = [text for text in texts if isinstance(text, str) and " " in text]
    return [re.sub(r"^ +\w+: ", "", without_code(text), flags=re.MULTILINE) for text in said]


@pytest.mark.slow
@pytest.mark.parametrize("room", sorted({source.relative_to(REPOSITORY).parts[0] for source in SOURCES}))
def test_messages_and_docstrings_are_written_in_the_words_of_the_glossary(room: str):
    found = {
        f"{source.relative_to(REPOSITORY)}: {text}"
        for source in SOURCES
        if source.relative_to(REPOSITORY).parts[0] == room
        for text in texts_of(source)
        if AVOIDED.search(text)
    }
    assert found == set()


AVOIDED_NAMES = {"told", "tells", "remark", "remarks", "said", "says", "signs", "doubts"}
# Users see the first two, in `Metrics` and in `Reached`.
KNOWN_NAMES = {"listener/metrics.py: remarks", "transport/base.py: said"}
# The JSON of a recovery plan has this key, and the variables that fill it have its name.
OF_PLANS = ("workbench/recovery/", "doubts")


def names_in(source: Path) -> set[str]:
    """Return the names that a module defines: of classes, functions, arguments, attributes and variables."""
    found = set()
    for node in ast.walk(tree_of(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


@pytest.mark.slow
def test_names_in_the_code_are_those_of_the_glossary():
    found = {
        f"{source.relative_to(REPOSITORY).as_posix()}: {name}"
        for source in SOURCES
        for name in names_in(source)
        if not (source.relative_to(REPOSITORY).as_posix().startswith(OF_PLANS[0]) and name == OF_PLANS[1])
        if not AVOIDED_NAMES.isdisjoint(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))
    }
    assert found == KNOWN_NAMES


def test_the_words_that_the_test_looks_for_are_in_the_glossary():
    avoided = text_of("docs/glossary.md").partition("## Words to avoid")[2]
    rows = " ".join(re.findall(r"^\| (.*?) \|", avoided, re.MULTILINE))
    known = ("told", "tells", "stands", "wish", "anew", "remark", "in the place of", "of one's own", "lies")
    assert [word for word in known if word not in rows] == []
