"""
Parses events of which parts repeat.

The START and the end of a run say nearly the same of their datasets, and so do the runs of a job. A dataset or a facet
whose text is the same as that of the last one in its place is neither parsed nor written again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

_Place: TypeAlias = "tuple[str, str, str]"
_Parsed: TypeAlias = "tuple[Any, int]"
_Shape: TypeAlias = "Mapping[str, Callable[[PartParser, str, int, Mapping[str, Any]], _Parsed]]"

_BLANK = r"[ \t\n\r]*"
# A name with an escaped character is rare: such an event is parsed as a whole.
_NAME = rf'{_BLANK}"([^"\\\x00-\x1f]*)"{_BLANK}:{_BLANK}'
_FIRST_NAME = re.compile(rf"\{{{_NAME}")
_NEXT_NAME = re.compile(rf"{_BLANK},{_NAME}")
_OBJECT_END = re.compile(rf"{_BLANK}\}}")
_LIST_BEGIN = re.compile(rf"\[{_BLANK}(?=\{{)")
_NEXT_ITEM = re.compile(rf"{_BLANK},{_BLANK}")
_LIST_END = re.compile(rf"{_BLANK}\]")
_TEXT_END = re.compile(rf"{_BLANK}\Z")
_TEXT_BEGIN = re.compile(_BLANK)
# To remember less than this costs more than to parse it.
_SHORTEST = 64
_DIGEST_BYTES = 16
# A facet is remembered with its values, which take many times its characters. Of a dataset only texts are, and what its
# rows are made of. So the last event of ten thousand jobs, of a few thousand characters each, is remembered.
_MOST_OF_FACETS = 4_000_000
_MOST_OF_DATASETS = 64_000_000
# It is what `json.loads` calls; the type stubs lack it.
_scan: Callable[[str, int], _Parsed] = vars(json.JSONDecoder())["scan_once"]


class RepeatedDataset:
    """
    A dataset of an event that may stand in the next event of the job in the same words.

    Attributes:
        written: its JSON as it stands in the event.
        said: what the reader of events makes of it, so that it need not be made again; None at first.
    """

    __slots__ = ("_parsed", "said", "written")

    def __init__(self, parsed: dict[str, Any], written: str) -> None:
        self._parsed: dict[str, Any] | None = parsed
        self.written = written
        self.said: Any = None

    @property
    def parsed(self) -> dict[str, Any]:
        """Return the dataset as parsed JSON."""
        if self._parsed is None:
            found: dict[str, Any] = json.loads(self.written)
            return found
        return self._parsed

    def learn(self, said: object) -> None:
        """Remember what the reader makes of it. The parsed JSON, which is large, is then hardly needed again."""
        self.said, self._parsed = said, None


def _plain(value: object) -> object:
    """Return what the encoder takes instead of a value that it does not know."""
    if isinstance(value, RepeatedDataset):
        return value.parsed
    raise TypeError(f"{type(value).__name__} is not of JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)


def _encoder() -> Callable[[Any, int], Iterable[str]]:
    """Return what `JSONEncoder.encode` makes anew in each call, which costs more than a small value does."""
    make = vars(json.encoder).get("c_make_encoder")
    if make is None:
        return lambda value, _: (_ENCODER.encode(value),)
    plain = (_ENCODER.indent, _ENCODER.key_separator, _ENCODER.item_separator)
    flags = (_ENCODER.sort_keys, _ENCODER.skipkeys, _ENCODER.allow_nan)
    found: Callable[[Any, int], Iterable[str]] = make(
        None, _ENCODER.default, json.encoder.encode_basestring, *plain, *flags
    )
    return found


_encode = _encoder()
_text_of: Callable[[str], str] = json.encoder.encode_basestring


class EventPart(dict[str, Any]):
    """
    A JSON object that may stand in many events.

    Attributes:
        text: its JSON, the same whatever the order of its keys.
        written: its JSON as it stood in the event.
    """

    __slots__ = ("text", "written")

    def __init__(self, value: dict[str, Any], written: str) -> None:
        super().__init__(value)
        self.text = canonical(value)
        self.written = written


class RepeatedDatasets(list[Any]):
    """
    The inputs or the outputs of an event, which may stand in the next event of the job in the same words.

    Attributes:
        written: their JSON as it stands in the event.
        said: what the reader of events makes of them; None at first.
    """

    __slots__ = ("said", "written")

    def __init__(self, datasets: list[Any], written: str) -> None:
        super().__init__(datasets)
        self.written = written
        self.said: Any = None


_Written = TypeVar("_Written", bound="EventPart | RepeatedDataset | RepeatedDatasets")


class _LastUsed(Generic[_Written]):
    """
    What stood last in each place: what was used last, up to a limit.

    Args:
        most: how many characters are remembered in all, once or twice.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[_Place, _Written] = {}
        self._older: dict[_Place, _Written] = {}
        self._characters = 0

    def __contains__(self, place: _Place) -> bool:
        return place in self._known or place in self._older

    def at(self, place: _Place, text: str, at: int) -> _Written | None:
        """Return what stood in a place before, if the same text stands there now."""
        # What begins with a bracket ends with its counterpart: where the same text stands, the same value stands.
        found = self._known.get(place)
        if found is not None:
            return found if text.startswith(found.written, at) else None
        found = self._older.get(place)
        if found is None or not text.startswith(found.written, at):
            return None
        self.keep(place, found)
        return found

    def keep(self, place: _Place, value: _Written) -> None:
        """Remember what stands in a place."""
        self._known[place] = value
        self._characters += len(value.written)
        if self._characters > self._most:
            self._known, self._older, self._characters = {}, self._known, 0


class _UnlikeAnEventError(Exception):
    """The text is no event, or one that is written in a rare way."""


class PartParser:
    """
    Parses events, and remembers their datasets and facets.

    It remembers the last value of each facet of each job and dataset, and of each dataset in its place in the events of
    a job: those that were used last, up to a limit.
    """

    def __init__(self) -> None:
        self._facet_memory = _LastUsed[EventPart](_MOST_OF_FACETS)
        self._dataset_memory = _LastUsed["RepeatedDataset | RepeatedDatasets"](_MOST_OF_DATASETS)

    def parse(self, text: str) -> dict[str, Any] | None:
        """
        Return an event as `json.loads` does, but for its inputs and outputs, which are RepeatedDatasets.

        Those of its facets that are longer than a few words may be Parts.

        Args:
            text: its JSON.

        Returns:
            The event; None if the text is no JSON object, or if it is to be parsed as a whole.
        """
        begin = _TEXT_BEGIN.match(text)
        try:
            event, end = self._object(text, begin.end() if begin else 0, _EVENT)
        except (_UnlikeAnEventError, StopIteration, ValueError, RecursionError):
            return None
        return event if isinstance(event, dict) and _TEXT_END.match(text, end) else None

    def _object(self, text: str, at: int, shape: _Shape) -> _Parsed:
        """Return an object, of which the shape tells which values are to be parsed in a way of their own."""
        name = _FIRST_NAME.match(text, at)
        if name is None:
            return _scan(text, at)
        found: dict[str, Any] = {}
        while name is not None:
            key, at = name[1], name.end()
            below = shape.get(key)
            found[key], at = _scan(text, at) if below is None else below(self, text, at, found)
            name = _NEXT_NAME.match(text, at)
        return found, _end(_OBJECT_END, text, at)

    def _owner(self, text: str, at: int, _: Mapping[str, Any]) -> _Parsed:
        return self._object(text, at, _OWNER)

    def _inputs(self, text: str, at: int, event: Mapping[str, Any]) -> _Parsed:
        return self._datasets(text, at, event, "inputs")

    def _outputs(self, text: str, at: int, event: Mapping[str, Any]) -> _Parsed:
        return self._datasets(text, at, event, "outputs")

    def _datasets(self, text: str, at: int, event: Mapping[str, Any], side: str) -> _Parsed:
        """Return datasets. Their places are told apart by the job, if it stands before them."""
        begin = _LIST_BEGIN.match(text, at)
        if begin is None:
            return _scan(text, at)
        job = event.get("job")
        namespace, title = (str(job.get("namespace")), str(job.get("name"))) if isinstance(job, dict) else ("", "")
        place = (namespace, title, side)
        known = self._dataset_memory.at(place, text, at)
        if isinstance(known, RepeatedDatasets):
            return known, at + len(known.written)
        found: list[Any] = []
        start = at
        following: re.Match[str] | None = begin
        while following is not None:
            dataset, at = self._dataset(text, following.end(), (namespace, title, f"{side} {len(found)}"))
            found.append(dataset)
            following = _NEXT_ITEM.match(text, at)
        end = _end(_LIST_END, text, at)
        if len(found) > 1:
            found = RepeatedDatasets(found, text[start:end])
            self._dataset_memory.keep(place, found)
        return found, end

    def _dataset(self, text: str, at: int, place: _Place) -> _Parsed:
        known = self._dataset_memory.at(place, text, at)
        if known is not None:
            return known, at + len(known.written)
        # Only what stands in a place again is worth to be looked at facet by facet.
        value, end = self._object(text, at, _OWNER) if place in self._dataset_memory else _scan(text, at)
        if isinstance(value, dict):
            value = RepeatedDataset(value, text[at:end])
            self._dataset_memory.keep(place, value)
        return value, end

    def _facets(self, text: str, at: int, owner: Mapping[str, Any]) -> _Parsed:
        """Return facets. Their owner is told apart by what stands before them."""
        name = _FIRST_NAME.match(text, at)
        if name is None:
            return _scan(text, at)
        namespace, title = str(owner.get("namespace")), str(owner.get("name"))
        found: dict[str, Any] = {}
        while name is not None:
            key, at = name[1], name.end()
            found[key], at = self._facet(text, at, (namespace, title, key))
            name = _NEXT_NAME.match(text, at)
        return found, _end(_OBJECT_END, text, at)

    def _facet(self, text: str, at: int, place: _Place) -> _Parsed:
        known = self._facet_memory.at(place, text, at)
        if known is not None:
            return known, at + len(known.written)
        value, end = _scan(text, at)
        if isinstance(value, dict) and end - at >= _SHORTEST:
            value = EventPart(value, text[at:end])
            self._facet_memory.keep(place, value)
        return value, end


_OWNER: _Shape = {"facets": PartParser._facets}
_EVENT: _Shape = {
    **dict.fromkeys(("run", "job", "dataset"), PartParser._owner),
    "inputs": PartParser._inputs,
    "outputs": PartParser._outputs,
}


def canonical(value: Any) -> str:
    """Return a value as JSON, the same whatever the order of its keys."""
    if type(value) is str:
        return _text_of(value)
    return "".join(_encode(value, 0))


def facets_text(facets: Mapping[str, Any]) -> str:
    """Return facets as JSON, the same whatever their order."""
    texts = [
        f"{name_text(key)}:{each.text if isinstance(each, EventPart) else canonical(each)}"
        for key, each in sorted(facets.items())
    ]
    return f"{{{','.join(texts)}}}"


def dataset_text(dataset: Mapping[str, Any], of_versions: Collection[str]) -> tuple[str, bytes]:
    """
    Return the JSON of a dataset, the same whatever the order of its keys, and a digest of its facets.

    Args:
        dataset: the dataset.
        of_versions: the facets that are new in each run, which the digest leaves out.
    """
    has_facets = isinstance(dataset.get("facets"), dict)
    facets = dataset["facets"] if has_facets else {}
    text = facets_text({key: value for key, value in facets.items() if key not in of_versions})
    whole = canonical({key: value for key, value in dataset.items() if key != "facets" or not has_facets})
    if has_facets:
        versions = ",".join(f'"{key}":{canonical(facets[key])}' for key in of_versions if key in facets)
        comma = "," if versions and text != "{}" else ""
        whole = f'{whole[:-1]},"facets":{text[:-1]}{comma}{versions}}}}}'
    return whole, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def owner_text(owner: object) -> str:
    """Return a run or a job as JSON, the same whatever the order of keys."""
    if not isinstance(owner, dict) or not isinstance(owner.get("facets"), dict):
        return canonical(owner)
    texts = [
        f"{name_text(key)}:{facets_text(value) if key == 'facets' else canonical(value)}"
        for key, value in sorted(owner.items())
    ]
    return f"{{{','.join(texts)}}}"


@functools.lru_cache(maxsize=1000)
def name_text(name: str) -> str:
    """Return a name as JSON."""
    return canonical(name)


def _end(sign: re.Pattern[str], text: str, at: int) -> int:
    found = sign.match(text, at)
    if found is None:
        raise _UnlikeAnEventError
    return found.end()
