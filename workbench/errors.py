"""What can be wrong with a store, or with a question to it."""

from __future__ import annotations


class StoreError(Exception):
    """The store can't be opened, read or written. The message says what to do."""


class NameNotFoundError(StoreError):
    """
    Nothing in the store has the name. The message lists what comes near.

    Args:
        message: says so.
        listing: the command that lists all that there is, if the message does not.
    """

    def __init__(self, message: str, *, listing: str = "") -> None:
        super().__init__(message)
        self.listing = listing


class AmbiguousNameError(NameNotFoundError):
    """More than one thing in the store has the name."""
