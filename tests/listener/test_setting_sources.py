"""Where configuration comes from: environment, YAML file and Spark configuration, and which of them wins."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.facets.events.options import Tag
from openlineage_pyspark.facets.model.run import RunReference
from openlineage_pyspark.listener.settings.settings import Settings, default_search, load


def conf(**keys: str) -> dict[str, str]:
    return {f"spark.openlineage.{key}": value for key, value in keys.items()}


def from_environment(environ: dict[str, str]) -> Settings:
    return load({}, environ, ())


def from_yaml(text: str, folder: Path) -> Settings:
    path = folder / "openlineage.yml"
    path.write_text(text)
    return load({}, {}, [path])


def test_the_spark_configuration_wins_over_yaml_and_yaml_over_the_environment(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    transport = "{type: http, url: 'http://yaml', compression: gzip}"
    path.write_text(f"namespace: yaml\nappName: yaml\ntransport: {transport}\n")
    environ = {
        "OPENLINEAGE_NAMESPACE": "legacy",
        "OPENLINEAGE__NAMESPACE": "environment",
        "OPENLINEAGE__APP_NAME": "environment",
        "OPENLINEAGE__JOB__DOCUMENTATION": "environment",
        "OPENLINEAGE__TRANSPORT__URL": "http://environment",
        "OPENLINEAGE__TRANSPORT__ENDPOINT": "environment",
    }
    settings = load(conf(**{"namespace": "conf", "transport.url": "http://conf"}), environ, [path])
    assert (settings.namespace, settings.app_name) == ("conf", "yaml")
    assert settings.job_documentation == "environment"
    assert settings.transport == {
        "type": "http",
        "url": "http://conf",
        "compression": "gzip",
        "endpoint": "environment",
    }
    assert settings.warnings == ()
    assert settings.sources == (
        ("appName", str(path)),
        ("job.documentation", "OPENLINEAGE__JOB__DOCUMENTATION"),
        ("namespace", "Spark configuration"),
        ("transport.compression", str(path)),
        ("transport.endpoint", "OPENLINEAGE__TRANSPORT__ENDPOINT"),
        ("transport.type", str(path)),
        ("transport.url", "Spark configuration"),
    )


def test_options_of_another_transport_from_a_weaker_source_are_left_out(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    path.write_text("transport: {type: http, url: 'http://yaml'}\nnamespace: yaml\n")
    environ = {"OPENLINEAGE_URL": "http://environment", "OPENLINEAGE_API_KEY": "key"}
    settings = load(conf(**{"transport.type": "file", "transport.location": "a"}), environ, [path])
    assert settings.transport == {"type": "file", "location": "a"}
    assert settings.namespace == "yaml"


def test_the_short_environment_variables_make_an_http_transport():
    environ = {
        "OPENLINEAGE_URL": "http://h:5000",
        "OPENLINEAGE_ENDPOINT": "base/lineage",
        "OPENLINEAGE_API_KEY": "key",
        "OPENLINEAGE_NAMESPACE": "team",
    }
    settings = from_environment(environ)
    assert settings.transport == {
        "type": "http",
        "url": "http://h:5000",
        "endpoint": "base/lineage",
        "auth": {"type": "api_key", "apiKey": "key"},
    }
    assert (settings.namespace, settings.warnings) == ("team", ())


def test_an_api_key_in_the_environment_serves_an_http_transport_of_the_spark_configuration():
    environ = {"OPENLINEAGE_API_KEY": "key"}
    settings = load(conf(**{"transport.type": "http", "transport.url": "http://h"}), environ, ())
    assert settings.transport["auth"] == {"type": "api_key", "apiKey": "key"}
    assert from_environment(environ).transport == {}


@pytest.mark.parametrize(("text", "disabled"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_openlineage_disabled_switches_off(*, text: str, disabled: bool):
    settings = from_environment({"OPENLINEAGE_DISABLED": text})
    assert (settings.disabled, settings.warnings) == (disabled, ())


@pytest.mark.parametrize(
    "variable",
    ["OPENLINEAGE__TRANSPORT__TIMEOUT_IN_MILLIS", "OPENLINEAGE__TRANSPORT__TIMEOUTINMILLIS"],
)
def test_environment_names_match_the_keys_in_any_case_with_or_without_underscores(variable: str):
    assert from_environment({variable: "7"}).transport == {"timeoutInMillis": "7"}
    assert from_environment({variable.lower(): "7"}).transport == {"timeoutInMillis": "7"}


def test_environment_names_reach_facets_tags_owners_and_options_that_no_key_declares():
    settings = from_environment(
        {
            "OPENLINEAGE__FACETS__PROCESSING_ENGINE__DISABLED": "true",
            "OPENLINEAGE__FACETS__SPARK__LOGICAL_PLAN__DISABLED": "true",
            "OPENLINEAGE__COLUMN_LINEAGE__SCHEMA_SIZE_LIMIT": "5",
            "OPENLINEAGE__JOB__OWNERS__TEAM": "x",
            "OPENLINEAGE__TRANSPORT__MAX_QUEUE_SIZE": "9",
        }
    )
    assert settings.disabled_facets == {"processing_engine", "spark.logicalPlan"}
    assert (settings.schema_size_limit, settings.job_owners) == (5, (("team", "x"),))
    assert settings.transport == {"max_queue_size": "9"}
    assert settings.warnings == ()


def test_json_in_the_environment_holds_the_keys_below_and_wins_over_longer_names():
    run_id, job = "01941f29-7c00-7000-8000-000000000002", '{"namespace": "airflow", "name": "sales.load"}'
    settings = from_environment(
        {
            "OPENLINEAGE__TRANSPORT": '{"type": "console", "headers": {"X-A": "1"}}',
            "OPENLINEAGE__TRANSPORT__TYPE": "http",
            "OPENLINEAGE__CONTEXT": f'{{"parent": {{"run": {{"runId": "{run_id}"}}, "job": {job}}}}}',
            "OPENLINEAGE__JOB__TAGS": "[a;b:2]",
        }
    )
    assert settings.transport == {"type": "console", "headers": {"X-A": "1"}}
    assert settings.parent == RunReference(run_id, "airflow", "sales.load")
    assert settings.job_tags == (Tag("a", "true", "CONFIG"), Tag("b", "2", "CONFIG"))
    assert settings.warnings == ()


def test_the_layouts_of_both_clients_are_read_from_yaml(tmp_path: Path):
    settings = from_yaml(
        """
        transport:
          type: http
          url: http://h
          timeout: 3.5
          verify: false
          auth: {type: api_key, api_key: key}
        facets:
          environment_variables: [USER]
          spark: {logicalPlan: {disabled: true}}
          sql: {disabled: true}
        tags:
          job: {env: prod}
          run: {trigger: 7}
        job:
          owners: {team: x}
          tags: [a:1, b]
        namespace: 2024
        capturedProperties: [spark.master]
        appName:
        """,
        tmp_path,
    )
    assert settings.transport == {
        "type": "http",
        "url": "http://h",
        "timeout": 3.5,
        "verify": False,
        "auth": {"type": "api_key", "api_key": "key"},
    }
    assert settings.disabled_facets == {"spark.logicalPlan", "sql"}
    assert settings.job_tags == (
        Tag("env", "prod", "USER"),
        Tag("a", "1", "CONFIG"),
        Tag("b", "true", "CONFIG"),
    )
    assert settings.run_tags == (Tag("trigger", "7", "USER"),)
    assert settings.job_owners == (("team", "x"),)
    assert (settings.namespace, settings.app_name) == ("2024", None)
    assert settings.captured_properties == ("spark.master",)
    path = tmp_path / "openlineage.yml"
    variables = f"facets.environment_variables in {path}"
    assert settings.warnings == (f"{variables} is a key of another OpenLineage integration and has no effect here",)


def test_the_first_yaml_file_that_can_be_read_is_taken(tmp_path: Path):
    named, here, home = tmp_path / "named.yml", tmp_path / "openlineage.yml", tmp_path / "home.yml"
    here.write_text("namespace: here")
    home.write_text("namespace: home")
    assert load({}, {}, [here, home]).namespace == "here"
    named.write_text("namespace: named")
    assert load({}, {"OPENLINEAGE_CONFIG": str(named)}, [here, home]).namespace == "named"
    here.unlink()
    assert load({}, {}, [here, home]).namespace == "home"
    here.mkdir()
    settings = load({}, {}, [here, home])
    assert settings.namespace == "home"
    assert settings.warnings == (f"{here} can't be read (Is a directory), and is ignored",)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to other users")
@pytest.mark.parametrize(
    ("owner", "mode", "why"),
    [
        (1002, 0o644, "belongs to another user"),
        (0, 0o646, "can be written by others (chmod go-w)"),
        (0, 0o664, "can be written by others (chmod go-w)"),
    ],
)
def test_a_yaml_file_that_somebody_else_may_write_counts_only_if_it_is_named(
    tmp_path: Path, owner: int, mode: int, why: str
):
    here, home = tmp_path / "openlineage.yml", tmp_path / "home.yml"
    here.write_text("namespace: planted\n")
    home.write_text("namespace: own\n")
    os.chown(here, owner, 1002)
    here.chmod(mode)

    found = load({}, {}, (here, home))
    named = load({}, {"OPENLINEAGE_CONFIG": str(here)}, (here, home))

    said = f"{here} {why}, and is ignored; OPENLINEAGE_CONFIG={here} reads it anyway"
    assert (found.namespace, found.warnings) == ("own", (said,))
    assert (named.namespace, named.warnings) == ("planted", ())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to other groups")
def test_a_yaml_file_that_the_users_own_group_may_write_counts(tmp_path: Path):
    """Where each user has a group of the same name, new files can be written by it."""
    here = tmp_path / "openlineage.yml"
    here.write_text("namespace: own\n")
    os.chown(here, 0, 0)
    here.chmod(0o664)

    assert load({}, {}, (here,)).namespace == "own"


def left_out(path: Path, why: str) -> tuple[str, ...]:
    return (f"{path} {why}, and is ignored; OPENLINEAGE_CONFIG={path} reads it anyway",)


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_yaml_file_in_a_folder_that_others_may_write_counts_only_if_it_is_named(tmp_path: Path, mode: int):
    """Others may move another file of this user there, even where the sticky bit keeps them from removing any."""
    folder = tmp_path / "shared"
    folder.mkdir()
    file = folder / "openlineage.yml"
    file.write_text("namespace: planted\n")
    folder.chmod(mode)

    found = load({}, {}, (file,))
    why = f"is in {folder}, which can be written by others (chmod go-w)"
    assert (found.namespace, found.warnings) == ("default", left_out(file, why))
    assert load({}, {"OPENLINEAGE_CONFIG": str(file)}, (file,)).namespace == "planted"


def test_folders_above_may_be_shared_only_with_the_sticky_bit(tmp_path: Path):
    shared = tmp_path / "shared"
    own = shared / "own"
    own.mkdir(parents=True)
    file = own / "openlineage.yml"
    file.write_text("namespace: own\n")
    shared.chmod(0o1777)
    assert load({}, {}, (file,)).namespace == "own"

    shared.chmod(0o777)
    found = load({}, {}, (file,))
    why = f"is in {shared}, which can be written by others (chmod go-w)"
    assert (found.namespace, found.warnings) == ("default", left_out(file, why))


@pytest.mark.parametrize("linked", ["the file", "its folder"])
def test_a_link_is_as_good_as_the_folders_that_hold_it_and_its_target(tmp_path: Path, linked: str):
    here, target = tmp_path / "here", tmp_path / "target"
    target.mkdir()
    (target / "openlineage.yml").write_text("namespace: own\n")
    if linked == "the file":
        here.mkdir()
        (here / "openlineage.yml").symlink_to("../target/openlineage.yml")
    else:
        here.symlink_to(target)
    file = here / "openlineage.yml"
    assert load({}, {}, (file,)).namespace == "own"

    target.chmod(0o1777)
    (held,) = load({}, {}, (file,)).warnings
    assert held.startswith(f"{file} is in ")
    assert "target, which can be written by others (chmod go-w), and is ignored" in held
    target.chmod(0o755)
    (here if linked == "the file" else tmp_path).chmod(0o1777)
    assert load({}, {}, (file,)).namespace == "default"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives links to other users")
def test_a_link_of_another_user_counts_only_if_it_is_named(tmp_path: Path):
    target, link = tmp_path / "mine.yml", tmp_path / "openlineage.yml"
    target.write_text("namespace: mine\n")
    link.symlink_to(target)
    os.chown(link, 1002, 1002, follow_symlinks=False)

    found = load({}, {}, (link,))
    why = f"is behind the link {link}, which belongs to another user"
    assert (found.namespace, found.warnings) == ("default", left_out(link, why))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders to other users")
def test_a_yaml_file_in_a_folder_of_another_user_counts_only_if_it_is_named(tmp_path: Path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    file = folder / "openlineage.yml"
    file.write_text("namespace: planted\n")
    os.chown(folder, 1002, 1002)

    found = load({}, {}, (file,))
    why = f"is in {folder}, which belongs to another user"
    assert (found.namespace, found.warnings) == ("default", left_out(file, why))


def test_a_named_yaml_file_that_is_absent_warns(tmp_path: Path):
    absent = tmp_path / "absent.yml"
    settings = load({}, {"OPENLINEAGE_CONFIG": str(absent)}, [])
    assert settings.warnings == (f"{absent} can't be read (No such file or directory), and is ignored",)


def test_the_files_of_every_client_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_search() == (
        tmp_path / "openlineage.yml",
        Path("/home/someone/.openlineage/openlineage.yml"),
    )


@pytest.mark.slow
def test_without_a_yaml_file_no_yaml_parser_and_never_spark_is_imported(tmp_path: Path):
    program = """
import sys
from pathlib import Path
from openlineage_pyspark.listener.settings.settings import load
file = Path(sys.argv[1])
conf = {"spark.openlineage.transport.type": "file"}
assert load(conf, {}, [file]).transport == {"type": "file"}
print(sorted({"yaml", "pyspark", "py4j", "requests", "openlineage"} & set(sys.modules)))
"""
    absent, present = tmp_path / "absent.yml", tmp_path / "present.yml"
    present.write_text("namespace: a")

    def imported(path: Path) -> str:
        command = [sys.executable, "-I", "-c", program, str(path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert (imported(absent), imported(present)) == ("[]", "['yaml']")


@pytest.mark.parametrize("environ", [{}, {"OPENLINEAGE__TRANSPORT__TIMEOUT_IN_MILLIS": "7"}])
def test_the_settings_import_no_client_of_a_transport(environ: dict[str, str]):
    """Nor any transport of this package, unless a name has to be looked up among the options of all of them."""
    program = """
import os, sys
from openlineage_pyspark.listener.settings.settings import load
load({"spark.openlineage.transport.type": "http", "spark.openlineage.namespace": "n"}, os.environ, [])
transport = "openlineage_pyspark.transport."
watched = {"requests", "confluent_kafka", transport + "kafka", transport + "http.transport"}
print(*sorted(name.removeprefix(transport) for name in watched & set(sys.modules)))
"""
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    assert done.stdout.strip() == ("http.transport kafka" if environ else "")
