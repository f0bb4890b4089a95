"""Where boxes stand: in layers from left to right, apart from each other, and the same each time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.workbench.pictures.layout import Gaps, Size, layered

GAPS = Gaps(across=50, down=10)
BOX = Size(100, 20)


def left_of(links: list[tuple[str, str]], *, boxes: str = "") -> dict[str, int]:
    """Return the left side of each box."""
    names = dict.fromkeys([*boxes, *(end for link in links for end in link)])
    layout = layered(dict.fromkeys(names, BOX), dict.fromkeys(links, 4), GAPS)
    return {name: place[0] for name, place in layout.places.items()}


def test_a_box_stands_right_of_all_that_lead_to_it() -> None:
    """In the layer of the longest path; each layer takes a box and the space between."""
    assert left_of([("a", "b"), ("b", "c"), ("a", "c")]) == {"a": 0, "b": 150, "c": 300}


def test_a_box_that_nothing_leads_to_stands_beside_what_it_leads_to() -> None:
    assert left_of([("a", "b"), ("b", "c"), ("d", "c")])["d"] == 150


def test_a_link_that_closes_a_circle_leads_back() -> None:
    links = [("a", "b"), ("b", "c"), ("c", "a")]
    layout = layered(dict.fromkeys("abc", BOX), dict.fromkeys(links, 4), GAPS)

    assert layout.backward == {("c", "a")}
    assert [place[0] for place in layout.places.values()] == [0, 150, 300]
    # On its way back it passes the layer between, from its right side to its left.
    assert [x for x, _ in layout.bends["c", "a"]] == [250, 150]


def test_a_link_over_a_layer_passes_beside_its_boxes() -> None:
    links = {("a", "b"): 4, ("b", "c"): 4, ("a", "c"): 4}
    layout = layered(dict.fromkeys("abc", BOX), links, GAPS)
    (left, height), (right, same_height) = layout.bends["a", "c"]

    assert (left, right, height) == (150, 250, same_height)
    assert not layout.places["b"][1] <= height <= layout.places["b"][1] + BOX.height


def test_boxes_are_ordered_so_that_links_do_not_cross() -> None:
    links = [("a", "y"), ("b", "x"), ("c", "z"), ("x", "1"), ("y", "2"), ("z", "3")]
    layout = layered(dict.fromkeys("abcxyz123", BOX), dict.fromkeys(links, 4), GAPS)
    height = {name: place[1] for name, place in layout.places.items()}

    assert [sorted(layer, key=height.__getitem__) for layer in ("abc", "xyz", "123")] in (
        [["a", "b", "c"], ["y", "x", "z"], ["2", "1", "3"]],
        [["b", "a", "c"], ["x", "y", "z"], ["1", "2", "3"]],
    )
    assert all(height[a] == height[b] for a, b in links)


def test_nothing_has_no_size() -> None:
    layout = layered(dict[str, Size](), {}, GAPS)

    assert (layout.places, layout.width, layout.height) == ({}, 0, 0)


_NAMES = "abcdefghij"
_LINKS = st.lists(st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)), max_size=25)
_HEIGHTS = st.lists(st.integers(10, 90), min_size=len(_NAMES), max_size=len(_NAMES))


@given(_LINKS, _HEIGHTS)
def test_boxes_never_overlap_and_links_that_are_not_turned_lead_to_the_right(
    pairs: list[tuple[str, str]], heights: list[int]
) -> None:
    sizes = {name: Size(100, height) for name, height in zip(_NAMES, heights, strict=True)}
    links = {(a, b): 4 for a, b in pairs if a != b}
    layout = layered(sizes, links, GAPS)

    layers: dict[int, list[tuple[int, int]]] = {}
    for name, (left, top) in layout.places.items():
        layers.setdefault(left, []).append((top, top + sizes[name].height))
    for spans in layers.values():
        ordered = sorted(spans)
        # Heights are rounded.
        assert all(low - high >= GAPS.down - 1 for (_, high), (low, _) in pairwise(ordered))
    for a, b in links:
        assert (layout.places[a][0] < layout.places[b][0]) is ((a, b) not in layout.backward)
    assert layout == layered(sizes, links, GAPS)
