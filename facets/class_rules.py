"""
Rules by JVM class, and the readings that they need from the probe.

A rule is registered with a decorator that names its classes, grouped by package. It is only found by the full name of a
class; a class with the same simple name in another package never gets the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from openlineage_pyspark.facets.model.plan import simple_name

Classes = Mapping[str, str]
"""Package -> the simple names of its classes, separated by blanks; a nested class is written `Outer$Inner`."""

Readings = Mapping[str, str]
"""Name of a reading -> chain of getters (`location.rootPaths`, `options[url]`, private `@options`), or `#` reading."""

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


class ClassRules(Generic[R]):
    """
    The rules of one kind.

    Attributes:
        readings: full class name -> name of a reading -> chain of getters.
        unread: simple class name -> the arguments that the probe leaves out, such as rows and closures.
    """

    def __init__(self) -> None:
        self.readings: dict[str, dict[str, str]] = {}
        self.unread: dict[str, tuple[str, ...]] = {}
        self._rules: dict[str, R] = {}
        self._full_names: dict[str, str] = {}

    def rule(self, classes: Classes, reads: Readings | None = None) -> Callable[[R], R]:
        """
        Return a decorator that registers a rule.

        Args:
            classes: the classes that the rule is for.
            reads: the readings of each of them, in addition to the parameters of a case class.

        Raises:
            ValueError: one of the classes already has a rule, or another reading of that name.
        """

        def register(rule: R) -> R:
            for name in full_names(classes):
                if name in self._rules:
                    raise ValueError(f"{name} already has a rule")
                self._rules[name] = rule
                self._full_names.setdefault(simple_name(name), name)
                self._read(name, reads or {})
            return rule

        return register

    def reads(self, readings: Mapping[str, Readings]) -> Callable[[F], F]:
        """
        Return a decorator that registers the readings of a function, and does not change the function.

        Args:
            readings: full name of a class, superclass or interface -> the readings of its values.

        Raises:
            ValueError: a class already has another reading of that name.
        """

        def register(function: F) -> F:
            for name, chains in readings.items():
                self._read(name, chains)
            return function

        return register

    def get(self, class_name: str) -> R | None:
        """Return the rule of the class with this full name; None if there is none."""
        return self._rules.get(class_name) or self._rules.get(class_name.rstrip("$"))

    def namesake(self, class_name: str) -> str | None:
        """Return the full name of a class with a rule and the same simple name in another package, if there is one."""
        known = self._full_names.get(simple_name(class_name))
        return None if class_name.rstrip("$") in self._rules else known

    def items(self) -> Iterator[tuple[str, R]]:
        """Yield each full class name with its rule, in the order of registration."""
        yield from self._rules.items()

    def __contains__(self, class_name: str) -> bool:
        return class_name.rstrip("$") in self._rules

    def _read(self, class_name: str, chains: Readings) -> None:
        known = self.readings.get(class_name, {})
        for name, chain in chains.items():
            if known.get(name, chain) != chain:
                raise ValueError(f"{class_name} already has another reading {name}: {known[name]}")
        if chains:
            self.readings[class_name] = {**known, **chains}


def full_names(classes: Classes) -> tuple[str, ...]:
    """Return the full names of classes that are grouped by package."""
    return tuple(f"{package}.{name}" for package, names in classes.items() for name in names.split())
