"""
Pack the text of an event against a similar text, and unpack it byte for byte. Pure.

Most of an event's text is also in an earlier event of the same job, its base. The common end, if it begins at the same
position, is not stored; the rest is compressed with the base as the dictionary.
"""

from __future__ import annotations

import zlib

import attrs

_LEVEL = 6
_LARGEST_WINDOW = 15
_SMALLEST_WINDOW = 9
# A dictionary is used as far as the window reaches.
MOST_OF_A_DICTIONARY = 1 << _LARGEST_WINDOW
"""How many bytes of a dictionary are used: its last ones."""
# After this position, the events of one version of a job are the same, apart from versions and counts.
_SHARED = b'"inputs":'


@attrs.frozen
class Packed:
    """
    A packed text.

    Args:
        data: the compressed bytes.
        shared: how many bytes at the end are those at the end of the base, and were not compressed.
    """

    data: bytes
    shared: int = 0


def pack(text: bytes, base: bytes = b"") -> Packed:
    """
    Return a text as it is stored.

    Args:
        text: the text.
        base: a text that is likely to be similar; empty for none.
    """
    shared = _shared(text, base)
    head, dictionary = _without_end(text, shared), _dictionary(base, shared)
    window = max(_SMALLEST_WINDOW, min(_LARGEST_WINDOW, (len(head) + len(dictionary)).bit_length()))
    memory = max(1, window - 7)
    if dictionary:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -window, memory, zlib.Z_DEFAULT_STRATEGY, dictionary)
    else:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -window, memory)
    return Packed(packer.compress(head) + packer.flush(), shared)


def unpack(packed: Packed, base: bytes = b"") -> bytes:
    """
    Return the original text.

    Args:
        packed: the packed text.
        base: the text that it was packed against.
    """
    dictionary = _dictionary(base, packed.shared)
    unpacker = zlib.decompressobj(-_LARGEST_WINDOW, dictionary) if dictionary else zlib.decompressobj(-_LARGEST_WINDOW)
    head = unpacker.decompress(packed.data) + unpacker.flush()
    return head + base[len(base) - packed.shared :] if packed.shared else head


def dictionary_of(texts: list[bytes]) -> bytes:
    """Return a dictionary for texts without a base: some texts, as many bytes of them as are used."""
    return b"".join(texts)[:MOST_OF_A_DICTIONARY]


def _shared(text: bytes, base: bytes) -> int:
    begin, there = text.find(_SHARED), base.find(_SHARED)
    if begin < 0 or there < 0 or len(text) - begin != len(base) - there:
        return 0
    return len(text) - begin if text.endswith(base[there:]) else 0


def _without_end(text: bytes, shared: int) -> bytes:
    return text[: len(text) - shared]


def _dictionary(base: bytes, shared: int) -> bytes:
    return _without_end(base, shared)[-MOST_OF_A_DICTIONARY:]
