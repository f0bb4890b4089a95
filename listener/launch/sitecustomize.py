"""
Install the hook before the user's script runs: the launcher puts this module's folder at the front of PYTHONPATH.

It removes that folder again, so that no child process inherits it, installs the hook, and then imports the
environment's own `sitecustomize`.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

here = Path(__file__).parent
sys.path.remove(str(here))
_, _, rest = os.environ["PYTHONPATH"].partition(os.pathsep)
if rest:
    os.environ["PYTHONPATH"] = rest
else:
    del os.environ["PYTHONPATH"]

# Appended last, so that nothing next to the package shadows the driver's own modules.
if importlib.util.find_spec("openlineage_pyspark") is None:
    sys.path.append(str(here.parents[2]))
try:
    importlib.import_module("openlineage_pyspark.auto")
except ImportError as problem:
    sys.stderr.write(f"openlineage: no lineage of this application: {problem}\n")
del sys.modules["sitecustomize"]
importlib.import_module("sitecustomize")
