"""The page on small screens and on paper, touched, by keys alone, and for eyes that need other colours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openlineage_pyspark.workbench.model.graph import Graph
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from support.large_graph import large_graph
from support.lineage_events import dataset, run_event

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

PHONE = (390, 844)
TURNED = (844, 390)
A4_PIXELS = (794, 1123)

# Which boxes do not stand in the picture's part of the window as a whole.
_OUTSIDE = """
const pane = document.querySelector(arguments[0]).getBoundingClientRect();
return [...document.querySelectorAll(`${arguments[0]} .box, ${arguments[0]} .job`)].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.left < pane.left - 1 || box.right > Math.min(pane.right, innerWidth) + 1
    || box.top < pane.top - 1 || box.bottom > pane.bottom + 1;
}).map((each) => each.getAttribute('aria-label'));
"""
_FOUND = "return [...document.querySelectorAll('#results li')].map((each) => each.innerText)"
_SCALE = "return Number(/scale\\((.*)\\)/.exec(document.querySelector('#canvas .scene').getAttribute('transform'))[1])"
_FOCUSED = "return [document.activeElement.id, document.activeElement.getAttribute('aria-label')]"


@contextmanager
def screen(
    seen: Any, size: tuple[int, int], *, touch: bool = False, media: str = "", **features: str
) -> Iterator[None]:
    """Give the browser another screen."""
    tell = seen.chrome.execute_cdp_cmd
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    shape = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": touch}
    tell("Emulation.setDeviceMetricsOverride", shape)
    tell("Emulation.setTouchEmulationEnabled", {"enabled": touch, "maxTouchPoints": 2})
    tell("Emulation.setEmulatedMedia", {"media": media, "features": named})
    try:
        yield
    finally:
        tell("Emulation.setEmulatedMedia", {"media": "", "features": []})
        tell("Emulation.setTouchEmulationEnabled", {"enabled": False})
        tell("Emulation.clearDeviceMetricsOverride", {})


def touch(seen: Any, *steps: list[tuple[float, float]]) -> None:
    """Put fingers on the screen, move them, and take them off."""
    for place, fingers in enumerate(steps):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(fingers)]
        kind = "touchStart" if not place else "touchMove"
        seen.chrome.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    seen.chrome.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    seen.settled()


def press(seen: Any, *keys: str) -> None:
    ActionChains(seen.chrome, duration=0).send_keys(*keys).perform()
    seen.settled()


def look_for(seen: Any, text: str) -> list[str]:
    script = "const e = document.getElementById('search'); e.focus(); e.value = arguments[0]; "
    seen.script(script + "e.dispatchEvent(new Event('input'))", text)
    return list(seen.settled().script(_FOUND))


def outside(seen: Any, pane: str = "#canvas") -> list[str]:
    return list(seen.script(_OUTSIDE, pane))


def test_two_fingers_enlarge_the_picture_and_what_is_between_them_stays(seen, first):
    with screen(seen, PHONE, touch=True):
        seen.open(first).click("#fit")
        scale = seen.script(_SCALE)
        x, y, width, height = seen.rectangle("#canvas")
        middle = (x + width / 2, y + height / 2)
        before = seen.rectangle('#canvas [aria-label="Table wide"]')
        touch(seen, *([(middle[0] - far, middle[1]), (middle[0] + far, middle[1])] for far in (30, 40, 60)))
        after = seen.rectangle('#canvas [aria-label="Table wide"]')

        assert seen.script(_SCALE) == pytest.approx(2 * scale)
        assert [middle[0] + 2 * (before[0] - middle[0]), middle[1] + 2 * (before[1] - middle[1])] == pytest.approx(
            after[:2], abs=1
        )
        assert seen.address == ""

        touch(seen, [middle], [(middle[0] - 30, middle[1] + 10)], [(middle[0] - 50, middle[1] + 20)])
        moved = seen.rectangle('#canvas [aria-label="Table wide"]')
        assert [moved[0] - after[0], moved[1] - after[1]] == pytest.approx([-50, 20], abs=1)


def test_a_small_screen_begins_where_names_can_be_read_and_shows_all_on_demand(seen, first):
    with screen(seen, PHONE, touch=True):
        seen.open(first)
        assert seen.script(_SCALE) == pytest.approx(0.8)
        assert outside(seen) != []
        # The Tab key leads to what is on the screen.
        assert seen.all('#canvas [tabindex="0"]') == ["Table daily, 2 columns"]

        seen.click("#fit")
        assert outside(seen) == []


def test_all_of_a_large_picture_is_shown_on_demand(seen):
    seen.open(large_graph(300), "#level=columns")
    seen.click("#fit")

    assert outside(seen) == []
    assert len(seen.tables + seen.jobs) == 100


def test_a_screen_that_is_turned_shows_the_whole_picture_again_unless_the_user_has_moved_it(seen, first):
    with screen(seen, TURNED, touch=True):
        seen.open(first).click("#fit")
        with screen(seen, PHONE, touch=True):
            assert outside(seen.settled()) == []
            seen.click("#nearer")
            place = seen.place
            with screen(seen, TURNED, touch=True):
                assert seen.settled().place == place


def test_the_small_map_is_there_only_where_something_is_not_on_the_screen(seen, first):
    seen.open(first)
    assert seen.script("return getComputedStyle(document.getElementById('map')).display") == "none"
    for _ in range(5):
        seen.click("#nearer")
    assert seen.script("return getComputedStyle(document.getElementById('map')).display") != "none"
    seen.click("#fit")
    assert seen.script("return getComputedStyle(document.getElementById('map')).display") == "none"


def test_on_a_phone_what_is_found_fits_the_screen_and_a_finger_moves_the_list_before_it_chooses(seen):
    with screen(seen, PHONE, touch=True):
        seen.open(large_graph(60))
        assert len(look_for(seen, "column_3")) == 41
        assert seen.script("return document.documentElement.scrollWidth") == 390
        x, y, width, height = seen.rectangle("#results")
        assert (x >= 0, x + width <= 390) == (True, True)

        touch(seen, *([(x + 50, y + height - 40 - far)] for far in (0, 30, 60, 90, 120)))
        assert seen.address == ""
        assert seen.script("return document.getElementById('results').hidden") is False

        # A tap while the list still rolls would only stop it.
        seen.open(large_graph(60))
        look_for(seen, "column_3")
        item = seen.rectangle("#found-2")
        seen.script("window.tapped = new Promise((done) => document.addEventListener('click', done, {once: true}))")
        touch(seen, [(item[0] + 20, item[1] + item[3] / 2)])
        seen.chrome.execute_async_script("window.tapped.then(arguments[0])")
        assert "lit=" in seen.address


def test_a_search_says_that_it_found_nothing_and_how_much_it_does_not_list(seen):
    seen.open(large_graph(60))
    assert look_for(seen, "nowhere") == ["nothing found"]
    press(seen, Keys.ARROW_DOWN, Keys.ENTER)
    assert seen.address == ""

    found = look_for(seen, "column_3")
    assert (len(found), found[-1]) == (41, "… 20 more")
    press(seen, *[Keys.ARROW_DOWN] * 45, Keys.ENTER)
    assert seen.address.startswith("#focus=db")
    assert look_for(seen, " ") == []
    assert seen.script("return document.getElementById('results').hidden") is True


def test_a_window_that_is_very_small_scrolls_and_leaves_room_for_the_picture(seen, first):
    # So large is a window of 1280 x 1024 at 400 %.
    with screen(seen, (320, 256)):
        seen.open(first)
        assert seen.rectangle("#canvas")[3] >= 200
        assert seen.script("return document.documentElement.scrollWidth") <= 320
        assert seen.script("return document.documentElement.scrollHeight") > 256


@pytest.mark.parametrize("size", [A4_PIXELS, A4_PIXELS[::-1]], ids=["portrait", "landscape"])
def test_paper_shows_the_whole_picture_and_the_screen_stands_as_before(seen, first, second, size):
    seen.open(second, "#time=sides", before=first)
    for _ in range(4):
        seen.click("#nearer")
    place = seen.place
    seen.script("window.dispatchEvent(new Event('beforeprint'))")
    with screen(seen, size, media="print"):
        for pane, count in (("#left", 13), ("#canvas", 15)):
            assert outside(seen, pane) == []
            assert (
                seen.script("return document.querySelectorAll(`${arguments[0]} :is(.box, .job)`).length", pane) == count
            )
            assert seen.rectangle(pane)[3] <= size[1]
        left, right = (seen.rectangle(f"#{name}") for name in ("left", "canvas"))
        assert left[1] + left[3] <= right[1]
    seen.script("window.dispatchEvent(new Event('afterprint'))")

    assert seen.settled().place == place


def test_paper_says_that_not_all_is_shown(seen):
    seen.open(large_graph(300), "#level=columns")
    with screen(seen, A4_PIXELS, media="print"):
        note = seen.rectangle("#note")

    assert (note[2] > 0, note[3] > 0) == (True, True)


def test_two_times_are_named_and_stand_so_that_they_are_large(seen, first, second):
    seen.open(second, "#time=sides", before=first)
    left, right = (seen.rectangle(f"#{name}") for name in ("left", "canvas"))
    assert (left[0], left[1] + left[3] <= right[1]) == (right[0], True)
    names = "return [...document.querySelectorAll('.when')].filter((e) => e.offsetWidth).map((e) => e.innerText)"
    assert seen.script(names) == ["before", "now"]
    with screen(seen, (2400, 700)):
        seen.open(second, "#time=sides&focus=clean&depth=1", before=first)
        left, right = (seen.rectangle(f"#{name}") for name in ("left", "canvas"))
        assert (left[1], left[0] + left[2] <= right[0]) == (right[1], True)

    seen.choose("time", "now")
    assert seen.script(names) == []


def test_what_came_and_went_has_a_sign_and_is_told(seen, first, second):
    seen.open(second, before=first)

    assert seen.all("#canvas .added[role=button], #canvas .added [role=button]") == [
        "Column clean.customer int, added",
        "Column new.n int, added",
        "Job shop.new, its last run: complete, added",
        "Table new, 1 column, added",
    ]
    signs = "return [...document.querySelectorAll(arguments[0])].map((each) => each.querySelector('text').textContent)"
    assert (seen.script(signs, "#canvas .row.added"), seen.script(signs, "#canvas .row.removed")) == (
        ["+"] * 2,
        ["\u2212"] * 2,
    )


def test_escape_closes_the_list_of_keys_before_anything_else(seen, first):
    seen.open(first).click_on("Column", "daily.total")
    press(seen, "?")
    keys = (
        "return [document.getElementById('keys').hidden, document.getElementById('help').getAttribute('aria-expanded')]"
    )
    assert seen.script(keys) == [False, "true"]
    press(seen, Keys.ESCAPE)
    assert (seen.script(keys), len(seen.lit)) == ([True, "false"], 4)
    press(seen, Keys.ESCAPE)
    assert seen.lit == []


def test_on_a_phone_the_list_of_keys_leaves_the_button_free_that_closes_it(seen, first):
    with screen(seen, PHONE, touch=True):
        seen.open(first).click("#help")
        top = "const r = document.getElementById('help').getBoundingClientRect(); "
        top += "return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2).id"
        assert seen.script(top) == "help"


def test_who_chooses_in_the_panel_by_keys_stays_there(seen, first):
    seen.open(first, "#lit=daily.total")
    press(seen, *[Keys.TAB] * 17)
    while "Column daily.total" in seen.panel:
        go = seen.script("return document.activeElement.getAttribute('data-go')")
        press(seen, Keys.ENTER if go == "dataset|lake|daily" else Keys.TAB)

    assert "Table daily" in seen.panel
    assert seen.script(_FOCUSED) == ["panel", "Details"]


def test_a_long_text_that_scrolls_is_reached_by_tab(seen, of_events):
    trace = "the disk is full\n" + "\tat java.base/Thread.run(Thread.java:1)\n" * 20
    failure = {"message": trace, "programmingLanguage": "JAVA"}
    seen.open(of_events([run_event("nightly", "FAIL", 1, inputs=(dataset("a"),), errorMessage=failure)]))

    code = "const e = document.querySelector('#panel code'); return [e.scrollHeight > e.clientHeight, e.tabIndex]"
    assert seen.script(code) == [True, 0]
    assert "\n    at java.base/Thread.run(Thread.java:1)\n" in seen.panel
    assert "\ufffd" not in seen.panel


def test_the_colours_of_high_contrast_are_those_of_the_user(seen, first):
    system = """
    const probe = document.createElement('i');
    document.body.append(probe);
    const found = ['Canvas', 'CanvasText', 'Highlight'].map((name) => {
      probe.style.color = name;
      return getComputedStyle(probe).color;
    });
    probe.remove();
    return found;
    """
    fill = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    with screen(seen, (1280, 720), forced_colors="active", prefers_color_scheme="dark"):
        seen.open(first).click_on("Column", "daily.total")
        paper, ink, lit = seen.script(system)
        assert len({paper, ink, lit}) == 3
        assert seen.script(fill, "#canvas .box rect.paper", "fill") == paper
        assert seen.script(fill, "#canvas .row text", "fill") == ink
        assert seen.script(fill, "#canvas .row.start rect", "fill") == lit

        look_for(seen, "total")
        assert seen.script(fill, "#results [aria-selected=true]", "outlineStyle") == "solid"


def test_all_that_is_said_stands_in_a_landmark_or_is_told_when_it_comes(seen, first):
    seen.open(first, "#from=shop.orders&to=guessed")
    homeless = """
    const homes = 'header, main, [role=status], [aria-live]';
    return [...document.body.children].filter((e) => e.offsetHeight && !e.matches(homes)).map((e) => e.id);
    """

    assert "Only the path from shop.orders to guessed" in seen.script(
        "return document.getElementById('path').innerText"
    )
    assert seen.script(homeless) == []


def test_a_page_without_anything_says_so(seen):
    seen.open(Graph((), ()))

    assert "0 tables, 0 columns, 0 jobs" in seen.panel
    assert seen.script("return getComputedStyle(document.getElementById('map')).display") == "none"
