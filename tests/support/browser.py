"""A headless Chromium, for what people see of a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FRAMES = "requestAnimationFrame(() => requestAnimationFrame(() => arguments[arguments.length - 1]()))"
"""An asynchronous script that ends when the next frames are drawn: until then, the page shows nothing of a change."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found() -> tuple[str, str] | None:
    """Return the paths of a browser and of its driver; None if one of them is missing."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def started(downloads: Path, *, size: str = "1400,850", dark: bool = False) -> Iterator[webdriver.Chrome]:
    """
    Start a browser that is seen by nobody and asks no network.

    Args:
        downloads: where files go that a page saves.
        size: width and height of the window.
        dark: whether pages are told that the user likes dark colours.
    """
    programs = found()
    if programs is None:
        raise FileNotFoundError("there is no Chromium, or no chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    switches = ["--headless=new", "--disable-dev-shm-usage", "--disable-gpu", f"--window-size={size}", "--lang=en"]
    # Chromium's sandbox refuses to work for root.
    switches += ["--no-sandbox"] if os.geteuid() == 0 else []
    switches += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    for switch in (*switches, "--disable-background-networking", "--no-first-run"):
        options.add_argument(switch)
    several = "profile.default_content_setting_values.automatic_downloads"
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads), several: 1})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(programs[1]))
    browser.set_script_timeout(120)
    try:
        yield browser
    finally:
        browser.quit()
