"""
What the launcher puts in front of PYTHONPATH: the interpreter imports it before the user's script.

It puts the hook in, takes itself out of the way, so that no other process inherits it, and lets the `sitecustomize` of
the environment have its turn.
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

# Last, so that nothing beside the package hides what the driver has of its own.
if importlib.util.find_spec("openlineage_pyspark") is None:
    sys.path.append(str(here.parents[2]))
try:
    importlib.import_module("openlineage_pyspark.auto")
except ImportError as problem:
    sys.stderr.write(f"openlineage: no lineage of this application: {problem}\n")
del sys.modules["sitecustomize"]
importlib.import_module("sitecustomize")
