"""What a script may not do is refused in its process, and named by its line; a Spark is not needed for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest

DRIVER = """
import os, sys
sys.dont_write_bytecode = True
from pathlib import Path
from openlineage_pyspark.workbench.dryrun.patches.local_frames import install_local_frames
from openlineage_pyspark.workbench.dryrun.sandbox.effects import Effects
from openlineage_pyspark.workbench.dryrun.sandbox.environment import hide_environment
from openlineage_pyspark.workbench.dryrun.sandbox.guard import AuditHook
from openlineage_pyspark.workbench.dryrun.sandbox.landlock import restrict_this_thread
from openlineage_pyspark.workbench.dryrun.sandbox.local_files import LocalFiles
from openlineage_pyspark.workbench.dryrun.sandbox.modules import Finder, guarded_imports
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage
request = ScriptRequest.of_text(Path(sys.argv[1]).read_text())
stage = Stage(request, 1)
hide_environment(stage)
Finder(stage, request.allowed, guarded_imports(request.source)).install()
Effects(stage, request.scratch).install()
LocalFiles(stage).install()
AuditHook(stage, 1, request.scratch).install()
install_local_frames(stage)
is_restricted = restrict_this_thread([request.scratch], 1)
try:
    exec(compile(request.source, request.path, "exec"), {"__name__": "__main__", "is_restricted": is_restricted})
except BaseException as problem:
    stage.record("raised", what=type(problem).__name__)
"""


def told(folder: Path, source: str, **settings: Any) -> list[tuple[object, ...]]:
    """Return what a script has told: a line and a code for each problem, and what it raised at last."""
    lines = [each for each in records(folder, source, **settings) if each["k"] not in ("file", "names")]
    return [(each["what"],) if each["k"] == "raised" else (each["spot"]["line"], each["code"]) for each in lines]


def records(
    folder: Path, source: str, *, at: str = "", beside: dict[str, str] | None = None, **settings: object
) -> list[dict[str, Any]]:
    """Return the records of a script in a folder, below the current one, with other files."""
    (work := folder / "work").mkdir()
    (scratch := folder / "scratch").mkdir()
    for name, text in (beside or {}).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, "utf-8")
    (job := work / at / "job.py").parent.mkdir(parents=True, exist_ok=True)
    job.write_text(source, "utf-8")
    place, here = str(job), str(work)
    request = ScriptRequest("job.py", place, source, (), here, str(scratch), here, **settings)  # type: ignore[arg-type]
    (scratch / "request.json").write_text(request.to_text(), "utf-8")
    command = [sys.executable, "-c", DRIVER, str(scratch / "request.json")]
    variables = {**os.environ, "A_SECRET": "token"}
    done = subprocess.run(command, check=True, capture_output=True, cwd=work, env=variables)
    assert beside or [each.name for each in work.iterdir()] == ["job.py"]
    return list(map(json.loads, done.stdout.splitlines()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.socket().bind(('0.0.0.0', 0))",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')",
        "import os; os.fork()",
        "import os; os.execv('/bin/true', ['true'])",
        "import subprocess; subprocess.Popen(['true'])",
        "import multiprocessing; multiprocessing.Process(target=print).start()",
        "import os; os.kill(os.getppid(), 15)",
        "open('/root/.aws/credentials')",
        "import pathlib; pathlib.Path('/proc/self/environ').read_bytes()",
        "import os; os.listdir('/')",
        "import os; os.open('/proc/self/environ', os.O_RDONLY)",
        "import sqlite3; sqlite3.connect('new.db')",
        "import os; os.fchmod(os.open('job.py', os.O_RDONLY), 0)",
        "import os; os.setxattr(os.open('job.py', os.O_RDONLY), 'user.x', b'1')",
        "import ctypes; ctypes.CDLL(None).chmod(b'job.py', 0)",
        "import multiprocessing as m; m.get_context('spawn').Process(target=print).start()",
    ],
)
def test_what_reaches_out_of_the_process_is_refused(tmp_path: Path, wanted: str) -> None:
    found = told(tmp_path, f"\n\n{wanted}\n")
    assert (3, "REFUSED") in found
    assert found[-1] in (("RefusedError",), ("URLError",))


@pytest.mark.slow
@pytest.mark.parametrize(
    "done",
    [
        "import os; os.remove('job.py')",
        "import os; os.makedirs('a/b', exist_ok=True)",
        "import shutil; shutil.rmtree('.')",
        "import shutil; shutil.copy('job.py', 'other.py')",
        "import pathlib; pathlib.Path('job.py').unlink()",
        "import pathlib; pathlib.Path('x').mkdir()",
        "import pathlib; pathlib.Path('x').write_text('y')",
        "import subprocess; assert subprocess.run(['false']).returncode == 0",
        "import subprocess; assert subprocess.check_output('true', shell=True) == ''",
        "import os; os.system('rm job.py')",
        "import logging; logging.basicConfig(filename='job.log'); logging.warning('x')",
    ],
)
def test_what_changes_files_or_starts_programs_is_told_and_not_done(tmp_path: Path, done: str) -> None:
    assert told(tmp_path, f"\n{done}\n") == [(2, "NOT_DONE")]


def test_a_file_that_a_script_writes_is_there_for_it_alone(tmp_path: Path) -> None:
    source = "import tempfile\nopen('a', 'w').write('x')\nassert open('a').read() == 'x'\ntempfile.TemporaryFile('w')\n"
    assert told(tmp_path, source)[0] == (2, "NOT_DONE")


def test_a_database_in_memory_is_no_file(tmp_path: Path) -> None:
    source = "import sqlite3\nassert sqlite3.connect(':memory:').execute('SELECT 1').fetchall() == [(1,)]\n"
    assert told(tmp_path, source) == []


def test_names_that_a_script_finds_and_data_that_it_reads_are_told(tmp_path: Path) -> None:
    source = """
import glob, os, sys
from pathlib import Path
stage = sys.modules["__main__"].stage
os.listdir("."), glob.glob(os.path.abspath("*.py")), list(Path(".").iterdir()), list(os.walk("."))
stage.finds(["conf/b", "conf/a", ".git", "__pycache__"])
stage.opens_data(os.path.abspath("seeds/x.csv"))
stage.opens_data("file:" + os.path.abspath("raw/day=*"))
stage.opens_data("/elsewhere/x")
"""
    found = records(tmp_path, source)

    assert [each["names"] for each in found if each["k"] == "names"] == ["job.py", "conf/a conf/b"]
    assert [each["path"] for each in found if each["k"] == "file"][-2:] == ["seeds/x.csv", "raw/day=*"]


def test_a_temporary_folder_is_removed_with_its_files(tmp_path: Path) -> None:
    source = """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "inner"))
    open(os.path.join(folder, "inner", "file"), "w").write("x")
assert not os.path.lexists(folder)
os.unlink("job.py", dir_fd=os.open(".", os.O_RDONLY))
"""
    found = records(tmp_path, source, variables={"TMPDIR": str(tmp_path / "scratch")})
    assert [(each["spot"]["line"], each["code"]) for each in found if each["k"] == "problem"] == [(7, "NOT_DONE")]
    assert all(each["k"] != "raised" for each in found)


def test_the_name_of_a_file_has_a_pattern_for_the_moment_of_the_run(tmp_path: Path) -> None:
    source = """\
import datetime, os
now = datetime.datetime.now()
open(f"a_{now:%Y%m%d_%H-%M-%S}.json", "w")
open(f"b-{now:%Y-%m-%d}.csv", "w")
open(f"c{now:%Y%m%d%H%M%S}", "w")
open(f"d{now:%Y/%m/%dT%H:%M:%S}", "w")
open("e_20200131_1.csv", "w")
open("f_12345678901.csv", "w")
open(f"g_{now:%Y%m%d}_17.csv", "w")
os.remove(f"h_{now:%Y_%m_%d}")
"""
    found = [
        each["message"].partition(",")[0].removeprefix("the script writes the file ")
        for each in records(tmp_path, source)
    ]

    assert found == [
        "a_{date}_{time}.json",
        "b-{date}.csv",
        "c{date}{time}",
        "d{date}T{time}",
        "e_20200131_1.csv",
        "f_12345678901.csv",
        "g_{date}_17.csv",
        "os.remove(h_{date}) changes files",
    ]


ARROW_WRITES = (
    # The first import of the module.
    "from pyarrow.parquet import write_table; write_table(pa.table({'a': [1]}), where='x')",
    "import pyarrow.parquet as p; p.write_table(pa.table({'a': [1]}), 'x')",
    "p.write_to_dataset(pa.table({'a': [1]}), 'x')",
    "p.ParquetWriter('x', pa.schema([])).write_table(None)",
    "import pyarrow.csv as p; p.write_csv(pa.table({'a': [1]}), 'x')",
    "import pyarrow.dataset as p; p.write_dataset(pa.table({'a': [1]}), 'x', format='parquet')",
    "import pyarrow.feather as p; p.write_feather(pa.table({'a': [1]}), 'x')",
    "import pyarrow.orc as p; p.write_table(pa.table({'a': [1]}), 'x')",
    "with pa.OSFile('x', 'wb') as file: file.write(b'1')",
    "pa.output_stream('x').write(b'1')",
    "pa.ipc.new_file('x', pa.schema([])).close()",
    "pa.ipc.RecordBatchFileWriter('x', pa.schema([])).close()",
    "pa.RecordBatchStreamWriter('x', pa.schema([])).close()",
)
ARROW_CHANGES = (
    "from pyarrow.fs import LocalFileSystem; files = LocalFileSystem(); files.delete_dir('.')",
    "files.delete_dir_contents('.', missing_dir_ok=True)",
    "files.delete_file('job.py')",
    "files.create_dir('x')",
    "files.move('job.py', 'x')",
    "files.copy_file('job.py', 'x')",
    "with files.open_output_stream('x') as stream: stream.write(b'1')",
    "files.open_append_stream(path='job.py').write(b'1')",
    "import pyarrow.fs; pyarrow.fs.copy_files('job.py', 'x')",
)
PANDAS_WRITES = (
    "import pandas; pandas.DataFrame({'a': [1]}).to_parquet('x', compression='gzip')",
    "pandas.DataFrame({'a': [1]}).to_csv('no/folder/x')",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "written"), [("pyarrow", (*ARROW_WRITES, *ARROW_CHANGES)), ("pandas", PANDAS_WRITES)]
)
def test_a_file_that_arrow_or_pandas_would_write_is_told_and_not_written(
    tmp_path: Path, module: str, written: tuple[str, ...]
) -> None:
    pytest.importorskip(module)
    source = "\n".join(["import pyarrow as pa", *written])
    assert told(tmp_path, source) == [(line, "NOT_DONE") for line in range(2, 2 + len(written))]


@pytest.mark.slow
def test_arrow_writes_to_open_files_and_reads(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = """\
import io
import pyarrow as pa, pyarrow.parquet as p
sink = io.BytesIO()
p.write_table(pa.table({'a': [1]}), sink, compression='gzip')
with pa.ipc.new_stream(stream := io.BytesIO(), pa.schema([('a', 'int64')])) as writer:
    writer.write_table(pa.table({'a': [1]}))
assert stream.getvalue() and sink.getvalue()[:4] == b'PAR1'
assert pa.OSFile('job.py').read().startswith(b'import') and pa.memory_map('job.py', 'r').read(6) == b'import'
"""
    assert told(tmp_path, source) == []


@pytest.mark.slow
def test_what_arrow_reads_from_elsewhere_is_a_stand_in(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = """\
import pyarrow.dataset as d, pyarrow.parquet as p
from pyarrow import fs
table = p.read_table("not/here.parquet")
table = p.read_table("s3://bucket/x")
files = fs.S3FileSystem(region="eu-west-1")
p.read_table("bucket/x", filesystem=files).num_rows
d.dataset("bucket/x", filesystem=files).to_table()
p.ParquetFile("not/here.parquet").metadata
"""
    assert told(tmp_path, source) == [(line, "STAND_IN") for line in (3, 4, 5, 6, 7, 8)]


@pytest.mark.slow
def test_the_kernel_refuses_what_python_does_not_see(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = """\
import ctypes, os, threading
from pyarrow.fs import FileSystem
if not is_restricted:
    raise SystemExit
files, here = FileSystem.from_uri("file://" + os.getcwd())
denied = []
def tried(do):
    try:
        do()
    except OSError as problem:
        denied.append("denied" in str(problem))
for do in (
    lambda: files.delete_file(here + "/job.py"),
    lambda: files.create_dir(here + "/x"),
    lambda: files.open_output_stream(here + "/x"),
):
    tried(do)
    beside = threading.Thread(target=tried, args=(do,))
    beside.start()
    beside.join()
assert denied == [True] * 6
from multiprocessing.pool import ThreadPool
with ThreadPool(2) as pool:
    assert pool.map(abs, [-1]) == [1]
c = ctypes.CDLL(None, use_errno=True)
assert (c.unlink(b"job.py"), ctypes.get_errno()) == (-1, 13)
assert c.system(b"true") != 0
version = tuple(map(int, os.uname().release.split(".")[:2]))
assert (c.kill(os.getppid(), 0), ctypes.get_errno()) == (-1, 1) or version < (6, 12)
"""
    raised = [each[0] for each in told(tmp_path, source) if len(each) == 1]
    if raised == ["SystemExit"]:
        pytest.skip("this kernel has no Landlock, or does not let this process use it")
    assert raised == []


def test_the_environment_is_hidden_but_for_what_was_given(tmp_path: Path) -> None:
    source = (
        "import os\nassert os.environ.get('A_SECRET', '') == ''\nassert 'A_SECRET' not in os.environ\n"
        "assert os.environ['GIVEN'] == 'x'\nassert os.environ['A_SECRET'] == '{A_SECRET}'\n"
        "assert os.getenv('B', 'c') == 'c'\n"
    )
    assert told(tmp_path, source, variables={"GIVEN": "x"}) == [(5, "STAND_IN")]


def test_clients_and_absent_modules_have_stand_ins_unless_they_are_allowed(tmp_path: Path) -> None:
    source = (
        "import boto3\nfrom botocore.exceptions import ClientError\nimport nowhere.at_all as n\n"
        "try:\n    boto3.client('s3').upload(n.x)\nexcept ClientError:\n    pass\n"
        "try:\n    import nothing\nexcept ImportError:\n    pass\nelse:\n    raise SystemExit\nimport json\n"
    )
    assert told(tmp_path, source) == [(1, "STAND_IN"), (2, "STAND_IN"), (3, "STAND_IN")]


def test_an_allowed_module_is_loaded_as_it_is(tmp_path: Path) -> None:
    assert told(tmp_path, "import requests\nassert requests.Session().headers\n", allowed=("requests",)) == []


@pytest.mark.slow
def test_a_script_that_does_too_much_says_what_is_left_out(tmp_path: Path) -> None:
    tries = "try:\n        os.mkdir(f'x{n}')\n    except BaseException:\n        pass"
    source = f"import os\nfor n in range(20_000):\n    {tries}"

    found = told(tmp_path, source)

    assert (len(found), found[-1]) == (20_000, (4, "CUT"))


@pytest.mark.slow
def test_a_variable_that_is_not_set_is_a_stand_in_where_it_is_used_and_false_in_a_decision(tmp_path: Path) -> None:
    source = """\
import os
assert (f"{os.getenv('A')}", int(os.getenv("PORT")), float(os.environ.get("B"))) == ("{A}", 1, 1.0)
assert (os.getenv("DEBUG") or "no", os.getenv("C", "c"), os.environ.get("D", "d")) == ("no", "c", "d")
assert os.path.join(os.getenv("FOLDER"), "x") == "{FOLDER}/x"
assert os.getenv("GIVEN") == os.environ.get("GIVEN") == "yes"
"""
    found = told(tmp_path, source, variables={"GIVEN": "yes"})
    assert found == [(2, "STAND_IN")] * 3 + [(3, "STAND_IN"), (4, "STAND_IN")]


def test_a_script_finds_describes_and_moves_the_files_that_it_makes(tmp_path: Path) -> None:
    source = """\
import os, shutil
from pathlib import Path
os.makedirs("out")
open("out/a.json", "w").write("four")
assert (os.path.getsize("out/a.json"), os.stat("out/a.json").st_size, Path("out/a.json").stat().st_size) == (4, 4, 4)
assert os.path.exists("out/a.json") and os.path.isfile("out/a.json") and Path("out/a.json").exists()
assert os.path.isdir("out") and os.listdir("out") == ["a.json"] and [*Path("out").iterdir()] == [Path("out/a.json")]
os.replace("out/a.json", "out/b.json")
assert open("out/b.json").read() == "four" and os.listdir("out") == ["b.json"]
assert shutil.copy("out/b.json", "kept") == "kept" and Path("kept").read_text() == "four"
assert shutil.move(src="kept", dst="out") == "out" and sorted(os.listdir("out")) == ["b.json", "kept"]
shutil.copyfile("job.py", "other.py")
assert Path("other.py").read_text().startswith("import os")
Path("out/_SUCCESS").touch()
assert os.path.getsize("out/_SUCCESS") == 0
with open("job.py", "a") as end, open("other.py", "r+b") as begin:
    end.write("# more")
    begin.write(b"#")
assert Path("job.py").read_text().endswith("# more") and open("job.py").read(9) == "import os"
assert Path("other.py").read_bytes()[:8] == b"#mport o"
try:
    open("nowhere", "r+")
except FileNotFoundError:
    assert not os.path.exists("nowhere")
os.remove("out/b.json")
shutil.rmtree("out")
assert os.path.getsize("job.py") > 4
open("out/b.json")
"""
    found = told(tmp_path, source)
    assert [each for each in found if len(each) == 2] == [
        *((line, "NOT_DONE") for line in (3, 4, 8, 10, 11, 12, 14, 16, 16, 22)),
        (24, "DECISION"),
        (25, "NOT_DONE"),
        (26, "NOT_DONE"),
    ]
    assert found[-1] == ("FileNotFoundError",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("import socket; socket.socket().bind(('0.0.0.0', 80))", "listen on 0.0.0.0:80"),
        ("import socket; socket.socket().connect(('192.0.2.1', 80))", "connect to 192.0.2.1:80"),
    ],
)
def test_a_refusal_names_what_the_script_tried(tmp_path: Path, wanted: str, said: str) -> None:
    found = [each["message"] for each in records(tmp_path, wanted) if each["k"] == "problem"]
    assert found == [f"the script tried to {said}, which a dry run does not allow"]


@pytest.mark.slow
def test_a_pattern_finds_known_files_and_their_folders_on_its_own_level(tmp_path: Path) -> None:
    source = """
import glob
from pathlib import Path
assert glob.glob("in/*") == ["in/2026", "in/b.csv"]
assert glob.glob("in/*.csv") == ["in/b.csv"]
assert sorted(glob.glob("in/**/*.csv", recursive=True)) == ["in/2026/a.csv", "in/b.csv"]
assert sorted(map(str, Path("in").rglob("a.csv"))) == ["in/2026/a.csv"]
assert list(glob.iglob("in/*/*.parquet")) == []
"""
    columns = {f"file{tmp_path}/work/in/{name}": (("x", "INT"),) for name in ("2026/a.csv", "b.csv")}
    assert told(tmp_path, source, columns=columns) == [(8, "STAND_IN")]


@pytest.mark.slow
def test_a_file_by_which_a_script_locks_others_out_goes_to_the_scratch_folder(tmp_path: Path) -> None:
    source = """
import os
made = os.open("lock", os.O_CREAT | os.O_EXCL | os.O_RDWR)
os.write(made, b"1")
os.close(made)
assert open("lock").read() == "1"
for name in ("lock", "job.py"):
    try:
        os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        continue
    raise ValueError
os.unlink("lock")
os.close(os.open("job.py", os.O_RDONLY))
"""
    assert told(tmp_path, source) == [(3, "NOT_DONE"), (9, "NOT_DONE"), (9, "NOT_DONE"), (13, "NOT_DONE")]


@pytest.mark.slow
def test_a_module_in_a_folder_above_the_script_is_taken_and_named(tmp_path: Path) -> None:
    source = "import empty\nfrom utils.columns import NAMES\nimport elsewhere\nassert NAMES == ['id'] and empty.other\n"
    beside = {"bundle/utils/columns.py": "NAMES = ['id']", "bundle/empty/settings.py": ""}
    found = records(tmp_path, source, at="bundle/src/jobs", beside=beside)
    assert not [each for each in found if each["k"] == "raised"]
    told = [(each["spot"]["line"], each["message"].partition(",")[0]) for each in found if each["k"] == "problem"]
    assert told[:3] == [
        (1, "the module empty is not installed: what it returns is unknown"),
        (2, "the module utils is taken from the folder bundle"),
        (3, "the module elsewhere is not installed: what it returns is unknown"),
    ]


@pytest.mark.slow
def test_a_write_of_what_an_absent_module_returns_is_named(tmp_path: Path) -> None:
    source = """\
import absent
frame = absent.cleaned(1)
frame.write.mode("overwrite").saveAsTable("a")
frame.writeStream.format("delta").start("b")
frame.writeTo("c").append()
absent.file().write("text")
frame.select("x").write.parquet("d")
"""
    found = [each for each in records(tmp_path, source) if each["k"] == "problem"]
    assert [(each["spot"]["line"], each["code"]) for each in found] == [
        (1, "STAND_IN"),
        (3, "NOT_DONE"),
        (4, "NOT_DONE"),
        (5, "NOT_DONE"),
        (7, "NOT_DONE"),
    ]
    assert found[1]["message"] == "what absent.cleaned() returns is unknown, so what this line writes is left out"
