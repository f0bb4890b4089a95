"""Which strings in the brackets of a function are secret: keys of ciphers, passwords among options."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.secret_names import is_login, is_secret, is_shown_option

_WITH_KEY = frozenset("aes_encrypt aes_decrypt try_aes_decrypt aesencrypt aesdecrypt".split())
"""Functions whose second argument is a key."""
_KEYED = "hmac"
"""How the functions begin that users have for keyed hashes; which of their arguments is the key, is not known."""
_WITH_OPTIONS = frozenset(
    "from_json to_json schema_of_json from_csv to_csv schema_of_csv from_xml to_xml schema_of_xml from_avro to_avro "
    "schema_of_avro from_protobuf to_protobuf".split()
)
"""Functions that take a source's options, as a map."""


@attrs.define
class Brackets:
    """
    Brackets that are open.

    Args:
        function: what stands before them, in lower case.
        in_secret: whether all strings in them are secret.
        in_options: whether a map in them holds the options of a source.
        argument: how many commas were passed.
        named_secret: whether the last name in a map of names and values is that of a secret.
    """

    function: str
    in_secret: bool
    in_options: bool
    argument: int = 0
    named_secret: bool = False

    @property
    def holds_secret(self) -> bool:
        """Whether a string that comes next is secret."""
        as_value = self.named_secret and self.argument % 2 == 1
        as_key = self.argument == 1 and self.function in _WITH_KEY
        return self.in_secret or as_value or as_key or self.function.startswith(_KEYED)

    def read(self, text: str) -> None:
        """Keep in mind a string that stands in them: in a map it may be the name of the next."""
        if self.function == "map" and self.argument % 2 == 0:
            shown = is_shown_option(text) if self.in_options else not (is_secret(text) or is_login(text))
            self.named_secret = not shown


def opened(function: str, around: Brackets | None, *, in_secret: bool) -> Brackets:
    """
    The brackets behind a function, or behind anything else.

    Args:
        function: what stands before them.
        around: those that they stand in.
        in_secret: whether what stands in them is known to be secret.
    """
    if around is None:
        return Brackets(function.lower(), in_secret, in_options=False)
    in_options = around.in_options or around.function in _WITH_OPTIONS
    return Brackets(function.lower(), in_secret or around.holds_secret, in_options)
