"""
Compose the text of an expression from the columns of sources: `abs(sum(orders.amount))` for `abs(total)`.

Each attribute in the text of an expression is replaced by the text of the expression that computes it, down to the
columns of sources, which are qualified with the names of their tables. A text has at most `LONGEST` characters; `...`
shows what is left out, the innermost parts first. The length of the text limits the work.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar, cast

from openlineage_pyspark.facets.model.lineage import Computation, OperatorStep, UseKind
from openlineage_pyspark.facets.model.plan import (
    AttributeRef,
    Expression,
    ExpressionRef,
    Mention,
    Plan,
    Sql,
    StructSql,
    Value,
)
from openlineage_pyspark.facets.sql_names import quoted_name
from openlineage_pyspark.facets.trace.expressions import FieldPath, is_same_type_cast, path_in_branch, uses
from openlineage_pyspark.facets.trace.operators import Computed, Definition, Passed, sql_of
from openlineage_pyspark.facets.trace.solve import Origin, Trace
from openlineage_pyspark.facets.trace.texts import (
    CUT,
    attribute_text,
    field_text,
    shown_text,
    with_subqueries,
    without_literals,
)

LONGEST = 2_000
MOST_REPLACED = 200_000
"""The most attributes that are replaced in the texts of one plan, which takes a few seconds; all others are cut."""
_DEEPEST = 40
"""How many levels of nested attributes are replaced in a text that is composed in one pass."""
_OF_VALUES = re.compile(r"col[1-9][0-9]*")
"""The names that Spark gives to the columns of VALUES."""


class _Hole(NamedTuple):
    """
    An attribute in a text.

    Args:
        id: its exprId.
        operator: the index of the operator whose expression it is in.
        scope: the indices of the operators whose output that expression reads.
        name: its name there.
        path: the names of the fields that are taken from it, the outermost first.
    """

    id: int
    operator: int
    scope: tuple[int, ...]
    name: str
    path: FieldPath = ()


# A plan has hundreds of these; a named tuple that is created this way takes half the time.
_hole = cast(
    "Callable[[tuple[int, int, tuple[int, ...], str, FieldPath]], _Hole]", functools.partial(tuple.__new__, _Hole)
)
_Parts = tuple["str | _Hole", ...]
_Key = TypeVar("_Key")
_Made = TypeVar("_Made")


class _Text(NamedTuple):
    """
    The text of an expression.

    Args:
        parts: the whole text.
        fields: if it builds a struct, its fields with their texts, as far as they are known.
    """

    parts: _Parts
    fields: tuple[tuple[str, _Text], ...] = ()

    def at(self, path: FieldPath) -> tuple[_Text, FieldPath]:
        """Return the text of the innermost field of a path that is known, and the rest of the path."""
        text = self
        for depth, name in enumerate(path):
            found = (field for own, field in text.fields if own.casefold() == name.casefold())
            field = next(found, None)
            if field is None:
                return text, path[depth:]
            text = field
        return text, ()


class _Draft:
    """A text that is being composed: its length, and its parts, some of which are drafts themselves."""

    def __init__(self, parts: Iterable[str | _Hole]) -> None:
        self.root: list[object] = []
        self.length = 0
        self._lacks_end = False
        self._open: deque[tuple[list[object], int, _Hole]] = deque()
        self._put(self.root, parts)

    def next(self) -> tuple[list[object], int, _Hole] | None:
        """Return the place of the next attribute to compose, the outermost first; None if there is none."""
        return self._open.popleft() if self._open else None

    def fill(self, place: tuple[list[object], int, _Hole], parts: _Parts) -> None:
        """Replace an attribute with parts, or with `...` if the text would become too long."""
        at, index, _ = place
        more = sum([len(part) if isinstance(part, str) else len(CUT) for part in parts])
        if self.length - len(CUT) + more > LONGEST:
            self.cut(place)
            return
        self.length -= len(CUT)
        inner: list[object] = []
        at[index] = inner
        self._put(inner, parts)

    def cut(self, place: tuple[list[object], int, _Hole]) -> None:
        """Replace an attribute with `...`."""
        at, index, _ = place
        at[index] = CUT

    def text(self) -> str:
        """Return the text; without its literals if the end of any part is missing, as `texts.own_text` does."""
        found: list[str] = []
        stack: list[object] = [self.root]
        while stack:
            part = stack.pop()
            if isinstance(part, list):
                stack.extend(reversed(part))
            else:
                found.append(str(part))
        return without_literals("".join(found)) if self._lacks_end else "".join(found)

    def _put(self, where: list[object], parts: Iterable[str | _Hole]) -> None:
        for part in parts:
            if isinstance(part, _Hole):
                self._open.append((where, len(where), part))
            elif part.endswith(CUT):
                self._lacks_end = True
            self.length += len(part) if isinstance(part, str) else len(CUT)
            where.append(part)


class _Path(NamedTuple):
    """
    A path, which chooses between the branches of a union, or the actions of a MERGE.

    Args:
        origin: where the path begins.
        last: its last step; None if the value is only passed on.
    """

    origin: Origin
    last: OperatorStep | None


_BY_NOTHING, _BY_LEAF, _BY_COLUMN, _BY_PATH = range(4)
"""What a text depends on: nothing, so that it is the same for all paths; or the leaf, the column, or the whole path."""


class _ByPath(Generic[_Key, _Made]):
    """The results for each key: the same for all paths, or dependent on the path."""

    def __init__(self) -> None:
        self._of_all: dict[_Key, tuple[_Made, int]] = {}
        self._of_one: dict[tuple[_Key, Origin | int], tuple[_Made, int]] = {}
        self._of_path: dict[tuple[_Key, _Path], tuple[_Made, int]] = {}

    def get(self, key: _Key, path: _Path | None) -> tuple[_Made, int] | None:
        """Return the result for a key, and what it depends on; None if there is none yet."""
        known = self._of_all.get(key)
        if known is None and path is not None:
            if self._of_one:
                known = self._of_one.get((key, path.origin.operator)) or self._of_one.get((key, path.origin))
            if known is None and self._of_path:
                known = self._of_path.get((key, path))
        return known

    def put(self, key: _Key, path: _Path | None, made: _Made, chosen: int) -> None:
        """Keep the result for a key, unless it depends on a path and none is given."""
        if chosen == _BY_NOTHING:
            self._of_all[key] = (made, chosen)
            return
        self._of_all.pop(key, None)
        if path is not None and chosen == _BY_PATH:
            self._of_path[key, path] = (made, chosen)
        elif path is not None:
            self._of_one[key, path.origin.operator if chosen == _BY_LEAF else path.origin] = (made, chosen)


class Composer:
    """Composes the texts of one plan's expressions, on demand."""

    def __init__(self, trace: Trace, name_of: Callable[[Origin], str]) -> None:
        """Prepare a composer; nothing is composed yet."""
        self._trace = trace
        self._plan = trace.plan
        self._name_of = name_of
        self._names: dict[int, str] = {}
        self._source_names: dict[tuple[int, int], str] = {}
        self._columns: dict[int, str] = {}
        self._texts = _ByPath[Computation, str]()
        self._expansions = _ByPath[_Hole, _Parts]()
        self._wholes = _ByPath[_Hole, "str | None"]()
        self._definitions: dict[tuple[int, int], dict[_Text, Definition]] = {}
        self._branches: dict[tuple[int, int], tuple[dict[Origin | int, _Text], int]] = {}
        self._chosen = _BY_NOTHING
        self._left = MOST_REPLACED

    def step(self, step: OperatorStep | None, origin: Origin) -> str:
        """
        Return the composed text of the expression on a path that is nearest to the sink; empty if there is none.

        Args:
            step: the last step of the path.
            origin: where the path begins. The path chooses between the branches of a union.
        """
        path = _Path(origin.column if origin.path else origin, step)
        while step is not None and not step.expression and step.computation is None:
            step = step.before
        if step is None or step.computation is None:
            return step.expression if step is not None else ""
        computation = step.computation
        known = self._texts.get(computation, path)
        if known is not None:
            return known[0]
        self._chosen = _BY_NOTHING
        found = self._computed(computation)
        text = self._text((step.expression,) if found is None else self._field(found, computation.path), path)
        self._texts.put(computation, path, text, self._chosen)
        return text

    def column(self, operator: int, id_: int) -> str:
        """Return the composed text of a column of an operator."""
        return self._text((_Hole(id_, operator, (operator,), self._plain_name(id_)),), None)

    def computed_column(self, operator: int, id_: int) -> str:
        """Return the composed text of a column of an operator; empty if only the column's name is known."""
        text = self.column(operator, id_)
        return "" if text == self._plain_name(id_) else text

    def _text(self, parts: _Parts, via: _Path | None) -> str:
        left = self._left
        whole = self._whole(parts, via, _DEEPEST)
        if whole is not None:
            return whole
        self._left = left
        draft = _Draft(parts)
        while (place := draft.next()) is not None:
            self._left -= 1
            if self._left >= 0:
                draft.fill(place, self._expanded(place[2], via))
            else:
                draft.cut(place)
        return draft.text()

    def _whole(self, parts: _Parts, via: _Path | None, depth: int) -> str | None:
        """
        Return a text with all attributes replaced; None if a part must be left out, which is rare.

        Args:
            parts: the text.
            via: the path whose text it is.
            depth: how many levels of nested attributes are replaced.
        """
        texts: list[str] = []
        length = 0
        for part in parts:
            text = part if isinstance(part, str) else self._column_of(part) or self._whole_of(part, via, depth)
            if text is None or text.endswith(CUT):
                return None
            texts.append(text)
            length += len(text)
        return "".join(texts) if length <= LONGEST else None

    def _column_of(self, hole: _Hole) -> str:
        """Return the text of an attribute that is always the same column of a leaf, as most are; empty otherwise."""
        id_ = hole.id
        known = self._columns.get(id_)
        if known is None:
            if self._left <= 0:
                return ""
            leaf, own = self._trace.scopes.leaf_of(id_), self._plain_name(id_)
            is_named = leaf is not None and not self._is_unnamed(leaf, own)
            known = _uncut(self._source_name(leaf, id_)) if leaf is not None and is_named else ""
            self._columns[id_] = known
            # The others are counted where they are replaced.
            self._left -= bool(known)
        return "" if hole.path else known

    def _whole_of(self, hole: _Hole, via: _Path | None, depth: int) -> str | None:
        known = self._wholes.get(hole, via)
        if known is not None:
            self._chosen = max(self._chosen, known[1])
            return known[0]
        if not depth or self._left <= 0:
            return None
        self._left -= 1
        chosen, self._chosen = self._chosen, _BY_NOTHING
        # A text that contains itself is never whole.
        self._wholes.put(hole, None, None, _BY_NOTHING)
        text = self._whole(self._expansion(hole, via), via, depth - 1)
        self._wholes.put(hole, via, text, self._chosen)
        self._chosen = max(self._chosen, chosen)
        return text

    def _expanded(self, hole: _Hole, via: _Path | None) -> _Parts:
        known = self._expansions.get(hole, via)
        if known is not None:
            self._chosen = max(self._chosen, known[1])
            return known[0]
        chosen, self._chosen = self._chosen, _BY_NOTHING
        found = self._expansion(hole, via)
        self._expansions.put(hole, via, found, self._chosen)
        self._chosen = max(self._chosen, chosen)
        return found

    def _expansion(self, hole: _Hole, via: _Path | None) -> _Parts:
        """Return the text that an attribute is computed from; its name if that is unknown."""
        seen: set[tuple[int, int, FieldPath]] = set()
        first, path = hole, hole.path
        above = ""
        while True:
            cell = self._trace.scopes.read(hole.operator, hole.id, hole.scope)
            if cell is None or (*cell, path) in seen:
                return (self._own_name(first),)
            operator, id_ = cell
            own = self._plain_name(id_)
            if self._trace.scopes.is_origin(operator, id_):
                is_unnamed = above and not path and self._is_unnamed(operator, own)
                return (above if is_unnamed else _uncut(self._source_name(operator, id_) + field_text(path)),)
            seen.add((operator, id_, path))
            found = self._definition(operator, id_, via)
            if found is None:
                return (self._own_name(first),)
            text, rest = found.at(path)
            if len(text.parts) == 1 and isinstance(text.parts[0], _Hole):
                hole = text.parts[0]
                # The branches of a union match the fields of structs by position.
                is_unchanged = rest == path and not hole.path
                path = path_in_branch(self._plan, id_, hole.id, path) if is_unchanged else (*hole.path, *rest)
                above = own
                continue
            return (CUT,) if _is_cut(text.parts) else _with_field(text.parts, rest)

    def _own_name(self, hole: _Hole) -> str:
        """Return the name of an attribute without its qualifier, which Spark may have generated."""
        return self._plain_name(hole.id) + field_text(hole.path)

    def _source_name(self, operator: int, id_: int) -> str:
        known = self._source_names.get((operator, id_))
        if known is None:
            known = self._source_names[operator, id_] = self._name_of(Origin(operator, id_))
        return known

    def _is_unnamed(self, operator: int, name: str) -> bool:
        """Return whether Spark generated the name of a VALUES column; the user's name is then the next one above."""
        return self._plan.operators[operator].name == "LocalRelation" and _OF_VALUES.fullmatch(name) is not None

    def _field(self, text: _Text, path: FieldPath) -> _Parts:
        """Return the text of a field of an expression's result."""
        found, rest = text.at(path)
        return found.parts if _is_cut(found.parts) else _with_field(found.parts, rest)

    def _definition(self, operator: int, id_: int, via: _Path | None) -> _Text | None:
        """Return the text of an attribute's definition; of several definitions, the one that a path goes through."""
        found = self._definitions_of(operator, id_)
        if len(found) <= 1:
            return next(iter(found), None)
        if via is None:
            self._chosen = _BY_COLUMN
            return None
        if (operator, id_) not in self._branches:
            # The first definition that reads an origin, or at least its leaf.
            by_origin: dict[Origin | int, _Text] = {}
            chooser = _BY_LEAF
            for text, definition in found.items():
                for each in self._origins(operator, definition):
                    chosen = by_origin.setdefault(each, text)
                    if chosen != text:
                        chooser = _BY_PATH
                    elif by_origin.setdefault(each.operator, text) != text:
                        chooser = max(chooser, _BY_COLUMN)
            self._branches[operator, id_] = by_origin, chooser
        branches, chooser = self._branches[operator, id_]
        branch = branches.get(via.origin, branches.get(via.origin.operator))
        if chooser == _BY_LEAF and branch is not None:
            self._chosen = max(self._chosen, chooser)
            return branch
        # The path may go through another column of the union or of the list of rows.
        self._chosen = _BY_PATH
        return self._on_path(operator, id_, found, via) or branch or self._in_row(operator, id_, via)

    def _in_row(self, operator: int, id_: int, via: _Path) -> _Text | None:
        """Return the text of a column in the one row of an Expand that reads a path's origin; None if several do."""
        node = self._plan.operators[operator]
        rows = [row for row in node.sequence("projections") if isinstance(row, tuple)]
        place = next((at for at, column in enumerate(node.output) if column.id == id_), -1)
        found = []
        for row in rows:
            origins = (self._origins(operator, Computed(value)) for value in row)
            if 0 <= place < len(row) and any(via.origin in each for each in origins):
                found.append(row[place])
        if len(found) != 1:
            return None
        return self._computed(Computation(operator, id_, self._trace.scopes.scope(operator), found[0]))

    def _on_path(self, operator: int, id_: int, found: Mapping[_Text, Definition], via: _Path) -> _Text | None:
        """Return the text of the definition that a path goes through; None if it goes through none."""
        values = [each.computation for each in via.last or () if each.computation is not None]
        value = next((each.value for each in values if (each.operator, each.id) == (operator, id_)), None)
        labels = self._trace.scopes.path(via.origin, via.last)
        above = len(labels) - 1
        # A path goes through the union of a recursive CTE several times: the last time is the nearest to the sink.
        while above > 0 and labels[above] != self._trace.scopes.label(operator):
            above -= 1
        for text, definition in found.items():
            if isinstance(definition, Passed):
                if above > 0 and labels[above - 1] == self._trace.scopes.label(definition.operator):
                    return text
            elif definition.value == value:
                return text
        return None

    def _definitions_of(self, operator: int, id_: int) -> dict[_Text, Definition]:
        if (operator, id_) not in self._definitions:
            self._definitions[operator, id_] = self._defined(operator, id_)
        return self._definitions[operator, id_]

    def _defined(self, operator: int, id_: int) -> dict[_Text, Definition]:
        """Return the text of each definition of an attribute; none if it is not computed by expressions alone."""
        node = self._plan.operators[operator]
        found: dict[_Text, Definition] = {}
        if node.name == "UnionLoopRef":
            return found
        for definition in self._trace.scopes.lineages[operator].computes.get(id_, ()):
            text: _Text | None = None
            if node.name == "Generate":
                generator = node.arguments.get("generator")
                text = self._computed(Computation(operator, id_, self._trace.scopes.scope(operator), generator))
            elif definition.kind is UseKind.CONDITIONAL:
                continue
            elif definition.kind is not UseKind.IDENTITY:
                return {}
            elif isinstance(definition, Passed):
                own = self._plain_name(definition.id)
                text = _Text((_Hole(definition.id, operator, (definition.operator,), own),))
            else:
                text = self._computed(Computation(operator, id_, self._trace.scopes.scope(operator), definition.value))
            if text is not None:
                found.setdefault(text, definition)
        return found

    def _origins(self, operator: int, definition: Definition) -> set[Origin]:
        if isinstance(definition, Passed):
            return {origin.column for origin in self._trace.column(definition.operator, definition.id)}
        found: set[Origin] = set()
        for use in uses(self._plan, definition.value, path=definition.path):
            cell = self._trace.scopes.read(operator, use.id, self._trace.scopes.scope(operator))
            found.update(origin.column for origin in (self._trace.column(*cell) if cell is not None else ()))
        return found

    def _computed(self, computation: Computation) -> _Text | None:
        """Return the text of an expression; None if it has none."""
        value = uncast(self._plan, computation.value)
        if isinstance(value, AttributeRef):
            own = self._plain_name(value.id)
            return _Text((_hole((value.id, computation.operator, computation.scope, own, ())),))
        sql = sql_of(self._plan, self._plan.operators[computation.operator], value)
        if not sql:
            return None
        parts = (sql,) if isinstance(sql, str) else sql
        text = _text_of(parts, computation.operator, computation.scope)
        if _is_cut(text.parts):
            return text
        field = self._field_of_generator(computation)
        return text._replace(parts=(*text.parts, field)) if field else text

    def _field_of_generator(self, computation: Computation) -> str:
        """Return `.` and the name of a generator's column, if the generator returns several; else nothing."""
        operator = self._plan.operators[computation.operator]
        made = operator.sequence("generatorOutput") if operator.name == "Generate" else ()
        several = len(made) > 1 and AttributeRef(computation.id) in made
        return f".{self._plain_name(computation.id)}" if several else ""

    def _name(self, id_: int) -> str:
        known = self._plan.attributes.get(id_)
        return known.name if known is not None else ""

    def _plain_name(self, id_: int) -> str:
        known = self._names.get(id_)
        if known is None:
            known = self._names[id_] = attribute_text(quoted_name(self._name(id_))) or CUT
        return known


def uncast(plan: Plan, value: Value) -> Value:
    """Return the attribute in a cast to its own type, which views add; any other value unchanged."""
    expression = _expression(plan, value)
    if expression is not None and expression.name == "Alias":
        expression = _expression(plan, expression.arguments.get("child"))
    if expression is None or not is_same_type_cast(plan, expression):
        return value
    return expression.arguments.get("child")


def _expression(plan: Plan, value: Value) -> Expression | None:
    return plan.expressions[value.index] if isinstance(value, ExpressionRef) else None


def _text_of(sql: Sql, operator: int, scope: tuple[int, ...]) -> _Text:
    """Return the SQL of an operator's expression as a text."""
    if len(sql) == 1 and isinstance(sql[0], StructSql):
        fields = tuple([(name, _text_of(field, operator, scope)) for name, field in sql[0].fields])
        return _Text(_text_of(sql[0].whole, operator, scope).parts, fields)
    return _Text(
        tuple(
            [
                _hole((p.id, operator, scope, p.text, p.path)) if isinstance(p, Mention) else shown_text(p)
                for p in with_subqueries(sql)
                if not isinstance(p, StructSql)
            ]
        )
    )


def _with_field(parts: _Parts, path: FieldPath) -> _Parts:
    """Return the parts of a text, followed by the path to a field."""
    field = field_text(path)
    return (*parts, field) if field else parts


def _is_cut(parts: _Parts) -> bool:
    """Return whether the end of a text is missing. Its unclosed quotes would corrupt a text that contains it."""
    last = parts[-1] if parts else ""
    return isinstance(last, str) and last.endswith(CUT)


def _uncut(text: str) -> str:
    """Return a text, or `...` if its end is missing."""
    return CUT if text.endswith(CUT) else text


class ColumnTexts(Mapping[int, str]):
    """The composed texts of an operator's columns by exprId, composed on demand."""

    def __init__(self, composer: Composer, plan: Plan, operator: int) -> None:
        """
        Prepare the texts; nothing is composed yet.

        Args:
            composer: composes them; it is released afterwards.
            plan: the plan of the operator.
            operator: the index of the operator.
        """
        self._ids = tuple(column.id for column in plan.operators[operator].output)
        self._operator = operator
        self._composer: Composer | None = composer
        self._texts: dict[int, str] = {}

    def __getitem__(self, id_: int) -> str:
        return self._composed()[id_]

    def __iter__(self) -> Iterator[int]:
        return iter(self._composed())

    def __len__(self) -> int:
        return len(self._composed())

    def _composed(self) -> dict[int, str]:
        if self._composer is not None:
            self._texts = {id_: self._composer.column(self._operator, id_) for id_ in self._ids}
            # The plan is no longer needed.
            self._composer = None
        return self._texts
