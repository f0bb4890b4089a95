"""The rules in a configuration that name datasets: for sources without a resolver, and for hosts in namespaces."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


@attrs.frozen
class SourceRule:
    """
    How the datasets of a source without a resolver are named.

    Args:
        source: the short name of its format, or a part of the name of its class.
        name: the name; `{option}` becomes the value of an option, `{one|other}` that of the first that is given.
        namespace: the namespace, likewise.
    """

    source: str
    name: str
    namespace: str

    def is_for(self, source: str, class_name: str) -> bool:
        """Return whether the rule is for a source, by its short name or its class."""
        wanted = self.source.lower()
        return wanted == source.lower() or wanted in class_name.lower()

    @property
    def options(self) -> frozenset[str]:
        """The names of the options that it needs, in lower case."""
        return frozenset(key for text in _PLACEHOLDER.findall(self.namespace + self.name) for key in _keys(text))

    def named(self, options: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the namespace and the name made from options; None if a required option is missing."""
        needed = map(_keys, _PLACEHOLDER.findall(self.namespace + self.name))
        if not all(any(key in options for key in keys) for keys in needed):
            return None
        return _filled(self.namespace, options), _filled(self.name, options)


def _keys(placeholder: str) -> list[str]:
    return [key.strip().lower() for key in placeholder.split("|")]


def _filled(template: str, options: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: next(options[key] for key in _keys(found[1]) if key in options), template)


@attrs.frozen
class NamespaceResolver:
    """
    A replacement of hosts in namespaces, as in `dataset.namespaceResolvers` of the Java integration.

    Args:
        pattern: matches the text to replace.
        name: the replacement; None for the text that `group` matches.
        group: the group of the pattern whose text is the replacement.
        schema: the scheme of the namespaces to which it applies; None for all schemes.
    """

    pattern: re.Pattern[str]
    name: str | None = None
    group: str | None = None
    schema: str | None = None

    def resolved(self, namespace: str) -> str:
        """Return a namespace with each match replaced; one that was resolved before is unchanged."""
        if self.schema and not namespace.startswith(f"{self.schema}://"):
            return namespace
        found = self.pattern.search(namespace)
        if found is None or (self.name is not None and re.search(rf"//{re.escape(self.name)}(?![\w-])", namespace)):
            return namespace
        instead = self.name if self.name is not None else found.group(self.group or 0)
        return self.pattern.sub(lambda _: instead or "", namespace)
