"""How fast a page opens, and how long its frames take while it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium import webdriver

ACTIONS = {
    "moved": "page.view = {...page.view, x: page.view.x - 12, y: page.view.y - 3}; page.draw();",
    "enlarged": "page.zoom(left % 40 < 20 ? 1.03 : 1 / 1.03);",
}
"""What is done for each frame, by what happens to the picture."""
_FRAMES = """
const done = arguments[0], times = [];
let last = performance.now(), left = COUNT;
function next(now) {
  times.push(now - last);
  last = now;
  if (!left--) return done(times.slice(2));
  ACTION
  requestAnimationFrame(next);
}
requestAnimationFrame(next);
"""


def opened(browser: webdriver.Chrome) -> float:
    """Return after how many milliseconds the page that is open could be used."""
    return float(browser.execute_script("return performance.getEntriesByName('ready')[0].startTime"))


def frames(browser: webdriver.Chrome, action: str, count: int) -> tuple[float, float]:
    """
    Use the page that is open, and return the median of its frames in milliseconds, and what 95 % of them are below.

    Args:
        browser: shows the page.
        action: one of `ACTIONS`.
        count: how many frames.
    """
    script = _FRAMES.replace("COUNT", str(count)).replace("ACTION", ACTIONS[action])
    times = sorted(browser.execute_async_script(script))
    return times[len(times) // 2], times[int(len(times) * 0.95)]
