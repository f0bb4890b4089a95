"""What the listener says while it prepares itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import NotConfiguredError
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.start.prepare import Preparation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """Give a home directory, and keep what is logged at INFO."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPENLINEAGE_CONFIG", raising=False)
    work, found = tmp_path / "work", tmp_path / "home" / ".openlineage"
    work.mkdir()
    found.mkdir(parents=True)
    monkeypatch.chdir(work)
    caplog.set_level(logging.INFO)
    return tmp_path


def prepare(conf: dict[str, str]) -> None:
    with pytest.raises(NotConfiguredError):
        Preparation(None, conf, Guard()).result()


def test_what_was_read_is_said(home: Path, caplog: pytest.LogCaptureFixture):
    here = home / "work" / "openlineage.yml"
    here.write_text("namespace: sales\nappName: secret words\n")
    prepare({})

    assert caplog.messages == [f"openlineage: the configuration comes from {here}"]


def test_what_was_left_out_is_said_with_the_reason(home: Path, caplog: pytest.LogCaptureFixture):
    here, own = home / "work" / "openlineage.yml", home / "home" / ".openlineage" / "openlineage.yml"
    here.write_text("transport: {type: console}\n")
    own.write_text("namespace: own\n")
    here.chmod(0o666)
    prepare({})

    why = "can be written by others (chmod go-w), and is ignored"
    assert caplog.messages == [
        f"openlineage: the configuration comes from {own}",
        f"openlineage: {here} {why}; OPENLINEAGE_CONFIG={here} reads it anyway.",
    ]
