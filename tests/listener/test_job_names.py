"""Names of jobs are such that a receiver finds each job once, below its parent."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.listener.runs.open_run import application_name, job_name


def test_a_job_is_named_after_the_application_the_command_and_its_target() -> None:
    assert job_name(["shop", "create_view", "default_v"], replace_dots=False) == "shop.create_view.default_v"
    assert job_name(["shop", "create_view", ""], replace_dots=False) == "shop.create_view"
    assert job_name(["shop", "create_view", "a.b"], replace_dots=True) == "shop_create_view_a_b"


def test_an_application_is_named_after_what_started_it() -> None:
    """Marquez names a child so, whatever it is told, and takes another name for another job."""
    assert application_name("shop", None) == "shop"
    assert application_name("shop", "nightly.load") == "nightly.load.shop"


@pytest.mark.parametrize(("length", "longest"), [(30, 250), (149, 250), (150, 250), (300, 250)])
def test_what_is_too_long_ends_in_a_hash_and_leaves_room_below_it(length: int, longest: int) -> None:
    application = application_name("a" * length, None)
    assert len(application) == min(length, 149)
    name, other = (job_name([application, "write", end * 300], replace_dots=False) for end in "xy")
    assert len(name) == longest
    assert re.fullmatch(rf"{application}\.write\.x+_[0-9a-f]{{6}}", name)
    assert name[-6:] != other[-6:]


def test_the_name_of_a_parent_is_never_cut() -> None:
    """Half a name could be that of another job."""
    application = application_name("a" * 300, "p" * 300)
    assert application.startswith("p" * 300 + ".")
    assert len(application) == 300 + 1 + 149
    name = job_name([application, "write", "x" * 300], replace_dots=False)
    assert name.startswith(application + ".write.x")
    assert len(name) == len(application) + 1 + 100
