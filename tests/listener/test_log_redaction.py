"""What the package logs shows no secret of the configuration, from the moment that it is known."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, logging, pkgutil, sys
from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.listener.start.secrets import hide_in_logs
from openlineage_pyspark.transport import open_transport

logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stdout)
path = {"url": "http://h/first-canary/second-canary"}
hide_in_logs(["first-canary"])
hide_in_logs(["second-canary"])
open_transport("http", path)
LOG.warning("%s and %s, password=%s", "first-canary", 1, "third-canary")
LOG.warning("100%% of %s", "nothing")

import openlineage_pyspark.facets, openlineage_pyspark.listener, openlineage_pyspark.transport
for package in ("facets", "listener", "transport"):
    folder = sys.modules["openlineage_pyspark." + package]
    for module in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        importlib.import_module(module.name)
bare = [
    name for name, logger in logging.root.manager.loggerDict.items()
    if name.startswith("openlineage_pyspark") and isinstance(logger, logging.Logger) and not logger.filters
]
print([name for name in bare if name in sys.modules and any(
    value is logging.getLogger(name) for value in vars(sys.modules[name]).values())])
"""


def test_every_logger_of_the_package_hides_what_is_known_and_what_is_named_a_secret() -> None:
    """In a process of its own, for the loggers are the process's."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    url, *rest = done.stdout.splitlines()
    assert url.startswith(
        "openlineage_pyspark.transport.http.settings: spark.openlineage.transport.url has the path /***/*** and no"
    )
    assert rest == [
        "openlineage_pyspark: *** and 1, password=***",
        "openlineage_pyspark: 100% of nothing",
        "[]",
    ]
