"""
Find what each statement of a script depends on, and what it changes for later ones, from the texts and without Spark.

A statement sees a table, a view, a function or a variable only by a name in its text, in the text of a view or a
function that it names, or in the value of a variable. So each name has a fingerprint of the texts of all statements
that changed an object of this name, and of everything that these could see. The key of a statement is made from its
text and the fingerprints of all names that it can see, so a cached answer is right for every statement with the same
key. A key may depend on more than the statement sees, but never on less: an unrecognized statement is assumed to see
and to change everything, and the session that analyzes a statement reports its effects (`is_covered`).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.databricks import as_spark
from openlineage_pyspark.workbench.predict.sql.variables import placeheld, substituted
from openlineage_pyspark.workbench.predict.tables.consequence import Consequence
from openlineage_pyspark.workbench.predict.tables.following import is_kept_setting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

_KEY_LENGTH = 32
_NAMING = frozenset({TokenKind.NAME, TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING})
_COMPUTED_NAME = re.compile(r"\bIDENTIFIER\s*\(", re.IGNORECASE)
_IGNORED = (TokenKind.SPACE, TokenKind.COMMENT)
_FILLS = re.compile(r"\s*INSERT\b", re.IGNORECASE)
_BIGGER_THAN_INT, _BIGGER_THAN_BIGINT = 2**31, 2**63
_LITERAL = r"(?:'text'|\"text\"|NULL|BOOLEAN|(?:- )?#[.\w]+)"
_ROW = rf"\( {_LITERAL}(?: , {_LITERAL})* \)"
_ROWS = re.compile(f"{_ROW}(?: , {_ROW})*")
_MARKS = ("${", "{{", "{%", "@", ":")
# The first words of statements that change nothing for later ones.
_CHANGES_NOTHING = frozenset(
    "( ANALYZE COMMENT COPY DELETE DESC DESCRIBE EXPLAIN EXPORT FROM GRANT INSERT LOAD MERGE MSCK OPTIMIZE REFRESH "
    "REVOKE SELECT SHOW TABLE TRUNCATE UNCACHE UPDATE VACUUM VALUES WITH".split()
)
# The words between the first one and the kind of the object that is created, dropped or changed.
_BEFORE_OBJECT = frozenset(
    "CREATE REPLACE DROP ALTER CACHE LAZY OR REFRESH GLOBAL TEMP TEMPORARY EXTERNAL STREAMING LIVE MATERIALIZED "
    "PRIVATE INCREMENTAL".split()
)
_OBJECTS = frozenset({"TABLE", "VIEW", "FUNCTION", "VARIABLE"})
_NAMESPACES = frozenset({"DATABASE", "SCHEMA", "NAMESPACE"})
_BEFORE_NAME = frozenset({"IF", "NOT", "EXISTS"})
_CHANGING = frozenset({"ALTER", "CACHE", "CREATE", "DROP", "REPLACE"})
_OF_VARIABLES = frozenset({"DECLARE", "DEFAULT", "OR", "REPLACE", "SET", "VAR", "VARIABLE"})
# The texts of these objects are read whenever a statement uses them.
_READ_LATER = frozenset({"VIEW", "FUNCTION", "VARIABLE"})


@attrs.frozen
class Dependence:
    """
    The names that a statement can see and change.

    Args:
        key: a hash of its text and of everything that it can see; statements with the same key have the same answer.
        like: the same of an INSERT of literals, whatever their values are; empty for any other statement. Statements
            with the same one have the same answer too, if Spark refuses nothing in it, or only its table.
        reads: the names that it can see, in lower case; None for all.
        writes: the names that it can change; None for all.
        catalogs: the names that it may treat as catalogs.
        sets: whether it may change settings of the session.
        replaces_setting: whether it is assumed to replace a setting, whose earlier values then no longer matter.
        words: all names in its text.
    """

    key: str
    like: str
    reads: frozenset[str] | None
    writes: frozenset[str] | None
    catalogs: frozenset[str]
    sets: bool
    replaces_setting: bool
    words: frozenset[str]

    def is_covered(self, text: str, effects: Collection[Consequence], *, is_refused: bool) -> bool:
        """
        Return whether a statement has seen and changed only the names that it is assumed to see and to change.

        Args:
            text: the text that Spark has read instead of the statement.
            effects: the statement's changes in the session.
            is_refused: whether Spark refused it.
        """
        # Spark may have read the dotted name of an unknown function as one quoted part.
        seen = {part for each in _names_in(tokens(text)) for part in _parts_of(each)}
        if not seen <= self.words or (self.replaces_setting and is_refused):
            return False
        changed = {each.name for each in effects if each.kind not in ("catalog", "setting")}
        catalogs = {each.name for each in effects if each.kind == "catalog"}
        sets = any(each.kind == "setting" for each in effects)
        is_known = self.sets or not sets
        return (
            is_known and changed <= (self.words if self.writes is None else self.writes) and catalogs <= self.catalogs
        )


@attrs.define
class _Change:
    """
    The possible changes of a statement.

    Args:
        names: the names of the objects that it changes; None for all.
        read_later: whether the text of a changed object is read whenever a statement uses the object.
        catalogs: the names that it may treat as catalogs.
        setting: the setting that it replaces; empty for none. An equals sign precedes the name of a variable.
        value: the new value of that setting.
        unknown_setting: whether it may change any setting, to any value.
    """

    names: frozenset[str] | None = frozenset()
    read_later: bool = False
    catalogs: frozenset[str] = frozenset()
    setting: str = ""
    value: str | None = None
    unknown_setting: bool = False


class Dependencies:
    """
    Finds the dependences of the statements of scripts, in their order.

    Args:
        base: a text with everything on which each answer depends, such as versions and properties.
        tables: the tables that are known before the first statement.
        functions: the names of functions that are known before it.
        values: the values of variables.
        opaque: the digests of statements that have seen or changed more than their texts show.
    """

    def __init__(
        self,
        base: str,
        tables: Iterable[DeclaredTable] = (),
        functions: Iterable[str] = (),
        values: Mapping[str, str] | None = None,
        opaque: Collection[str] = (),
    ) -> None:
        self._base = base
        self._opaque = opaque
        self._values = dict(values or {})
        self._names: dict[str, str] = {}
        self._bodies: dict[str, frozenset[str]] = {}
        self._catalogs: set[str] = set()
        self._first_parts: set[str] = set()
        self._settings: dict[str, str] = {}
        self._set = ""
        self._history = ""
        self._is_blind = False
        for table in tables:
            self._give(table.key[-1], _hash("table", attrs.asdict(table)))
        for name in functions:
            self._give(name.rpartition(".")[2].strip("`").lower(), _hash("function", name))

    def take(self, statement: ScriptStatement) -> Dependence:
        """Return the names that a statement can see and change, and apply its changes for the next ones."""
        texts = self._texts_of(statement)
        read = [_significant(each) for each in texts]
        words = frozenset().union(*map(_names_in, read))
        # The rows of a loop, and the variables in a script, depend on statements around them.
        sees_all = self._is_blind or statement.in_script or any(map(_COMPUTED_NAME.search, texts))
        if self._opaque and text_digest(statement) in self._opaque:
            sees_all = self._is_blind = True
        reads = None if sees_all else self._closure(words)
        seen: Any = self._history
        if reads is not None:
            named = sorted(name for name in reads if name in self._names)
            # Only a name of three parts makes a catalog, which then comes before a database of the same name.
            catalogs_seen = [[name, name in self._first_parts] for name in sorted(reads & self._catalogs)]
            seen = [[name, self._names[name]] for name in named], catalogs_seen
        around = [attrs.astuple(each) for each in statement.loops], statement.variables
        asked = [statement.text, statement.in_script, around]
        key = _hash(self._base, asked, self._set, seen)
        row = "" if sees_all or len(texts) > 1 else _row_of_literals(statement.text)
        like = row and _hash(self._base, row, self._set, seen)
        change = _change_of(texts, read, self._catalogs)
        if change.setting.startswith("="):
            self._values[change.setting[1:]] = change.value or ""
        change = _Change(None) if sees_all else change
        self._apply(change, key, words)
        first_parts = frozenset().union(*map(_first_parts, read))
        self._first_parts |= first_parts
        catalogs = change.catalogs | first_parts
        catalogs |= words if change.names is None else frozenset()
        self._catalogs |= catalogs
        self._history = _hash(self._history, key)
        sets = change.names is None or change.unknown_setting or bool(change.setting)
        return Dependence(key, like, reads, change.names, catalogs, sets, bool(change.setting), words)

    def _texts_of(self, statement: ScriptStatement) -> list[str]:
        """Return the texts that Spark may read instead of a statement."""
        texts = [statement.text, *(each.query for each in statement.loops)]
        for text in tuple(texts):
            if any(mark in text for mark in _MARKS):
                known = substituted(text, self._values.get, keeps=True)
                texts += [known, *map(placeheld, dict.fromkeys((known, text)))]
        texts += [each for text in tuple(texts) if (each := as_spark(text)) != text]
        return list(dict.fromkeys(texts))

    def _closure(self, names: frozenset[str]) -> frozenset[str]:
        """Return names, together with the names in the texts of views, functions and variables of these names."""
        found, pending = set(names), [each for each in names if each in self._bodies]
        while pending:
            new = self._bodies[pending.pop()] - found
            found |= new
            pending += [each for each in new if each in self._bodies]
        return frozenset(found)

    def _apply(self, change: _Change, key: str, words: frozenset[str]) -> None:
        for name in words if change.names is None else change.names:
            self._change(name, key)
            if change.read_later or change.names is None:
                self._bodies[name] = self._bodies.get(name, frozenset()) | words
        if change.names is None or change.unknown_setting:
            self._settings["*"] = _hash(self._settings.get("*", ""), key)
        if change.setting:
            self._settings[change.setting] = _hash(change.value)
        if change.names is None or change.unknown_setting or change.setting:
            self._set = _hash(sorted(self._settings.items()))

    def _give(self, name: str, by: str) -> None:
        """Add an object that is known before the first statement: a statement that sees everything sees it too."""
        self._change(name, by)
        self._history = _hash(self._history, name, by)

    def _change(self, name: str, by: str) -> None:
        self._names[name] = _hash(self._names.get(name, ""), by)


def text_digest(statement: ScriptStatement) -> str:
    """Return a hash of the text of a statement."""
    return _hash(statement.text)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]


def _significant(text: str) -> list[Token]:
    return [each for each in tokens(text) if each.kind not in _IGNORED]


def _row_of_literals(text: str) -> str:
    """
    Return an INSERT of literals with the kinds of the literals instead of their values; empty for any other statement.

    Each of its rows has a literal of the same kind in the same place, or NULL: Spark would convert others to a common
    type while it analyzes the statement, which it refuses for some values.
    """
    if not _FILLS.match(text):
        return ""
    found = list(tokens(text))
    begin = next((at for at, each in enumerate(found) if each.text.upper() == "VALUES"), len(found))
    rows = " ".join(_kind_of_literal(each) for each in found[begin + 1 :] if each.kind not in _IGNORED)
    if not _ROWS.fullmatch(rows):
        return ""
    of_rows = [row.strip("() ").replace("- ", "").split(" , ") for row in rows.split(" ) , ( ")]
    kinds = [{row[at] for row in of_rows} - {"NULL"} for at in range(min(map(len, of_rows)))]
    if len(set(map(len, of_rows))) > 1 or any(len(each) > 1 for each in kinds):
        return ""
    return json.dumps(["".join(each.text for each in found[:begin]), [sorted(each) for each in kinds]])


def _kind_of_literal(token: Token) -> str:
    """Return the kind of a literal, which decides its type; any other token as it is, in upper case."""
    if token.kind is TokenKind.STRING and token.whole and token.text[0] in "'\"":
        # A setting makes names of those in double quotes.
        return f"{token.text[0]}text{token.text[0]}"
    if token.kind is TokenKind.NUMBER:
        return f"#{_kind_of_number(token.text)}"
    word = token.text.upper()
    return "BOOLEAN" if word in ("TRUE", "FALSE") else word


def _kind_of_number(text: str) -> str:
    """Return the kind of a number, which decides its type; the number itself if Spark may refuse others like it."""
    if whole := re.fullmatch(r"0*([0-9]{1,19})", text):
        value = int(whole[1])
        if value < _BIGGER_THAN_INT:
            return "INT"
        # With a minus, the number in between is an INT.
        return "BIGINT" if _BIGGER_THAN_INT < value < _BIGGER_THAN_BIGINT else text
    # The type of a decimal depends on how many digits it has. Spark refuses 1E999, 999Y and 1E99BD.
    return re.sub(r"[0-9]", "9", text.lstrip("0")) if re.fullmatch(r"[0-9]*\.[0-9]*", text) else text


def _name(token: Token) -> str:
    is_quoted = token.kind in (TokenKind.NAME, TokenKind.STRING)
    return (unquoted(token) if is_quoted else token.text).lower()


def _names_in(found: Iterable[Token]) -> frozenset[str]:
    """Return everything that may be a name, or a part of one, in lower case."""
    names = {_name(each) for each in found if each.kind in _NAMING}
    # A string may be a name with several parts.
    return frozenset(names.union(*map(_parts_of, names)))


def _parts_of(name: str) -> list[str]:
    """Return the parts of a name that may itself be dotted."""
    return re.split(r"[.`]+", name) if "." in name else [name]


def _first_parts(read: list[Token]) -> set[str]:
    """Return the first parts of names with three parts or more: they may be catalogs."""
    found: set[str] = set()
    parts: list[Token] = []
    dot = False
    for token in [*read, Token(TokenKind.SYMBOL, "")]:
        is_name = token.kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.NUMBER)
        if token.text == "." and parts:
            dot = True
            continue
        if not (is_name and dot):
            if len(parts) > 2:
                found.add(_name(parts[0]))
            parts = []
        if is_name:
            parts.append(token)
        dot = False
    return found


def _change_of(texts: list[str], read: list[list[Token]], catalogs: Collection[str]) -> _Change:
    """Return the names that a statement can change, from the texts that Spark may read instead of it."""
    found = [_change_by(text, each, catalogs) for text, each in zip(texts, read, strict=True)]
    names: frozenset[str] | None = frozenset()
    for each in found:
        names = None if names is None or each.names is None else names | each.names
    if len(texts) > 1 and any(each.setting for each in found):
        # A value that comes from a variable is unknown here.
        return _Change(names, unknown_setting=True)
    merged = _Change(names, any(each.read_later for each in found), found[0].catalogs, found[0].setting)
    merged.catalogs = frozenset().union(*(each.catalogs for each in found))
    merged.value, merged.unknown_setting = found[0].value, any(each.unknown_setting for each in found)
    return merged


def _change_by(text: str, found: list[Token], catalogs: Collection[str]) -> _Change:
    if not found or found[0].text.upper() in _CHANGES_NOTHING:
        return _Change()
    words = [each.text.upper() if each.kind is TokenKind.WORD else each.text for each in found]
    first = words[0]
    if first in ("DECLARE", "SET") and (first == "DECLARE" or words[1:2] in (["VAR"], ["VARIABLE"])):
        names = (each for each in found if each.text.upper() not in _OF_VARIABLES)
        return _Change(_names_in(names), read_later=True)
    if first == "SET":
        return _of_setting(text, words)
    if first == "USE":
        return _of_use(found, words, catalogs)
    return _of_object(found, words) if first in _CHANGING else _Change(None)


def _of_setting(text: str, words: list[str]) -> _Change:
    """Return the change that a SET of a property makes."""
    key, is_set, value = text.split(None, 1)[-1].partition("=")
    key = key.strip()
    if not is_set or words[1:2] in (["CATALOG"], ["TIME"], ["ROLE"]):
        return _Change(unknown_setting=True)
    if is_kept_setting(key):
        return _Change()
    # Spark accepts any value for a property that is not its own.
    is_plain = not key.lower().startswith("spark.") and key.replace(".", "").replace("_", "").isalnum()
    return _Change(setting=f"={key}", value=value.strip()) if is_plain else _Change(unknown_setting=True)


def _of_use(found: list[Token], words: list[str], catalogs: Collection[str]) -> _Change:
    """Return the change that USE makes: a single name is a database."""
    named = found[2:] if words[1:2] and words[1] in _NAMESPACES else found[1:]
    first = frozenset(_name(each) for each in named[:1])
    is_plain = len(named) == 1 and named[0].kind in (TokenKind.WORD, TokenKind.NAME) and first.isdisjoint(catalogs)
    if is_plain and first != {"spark_catalog"}:
        return _Change(setting="database", value=named[0].text)
    return _Change(catalogs=first, unknown_setting=True)


def _of_object(found: list[Token], words: list[str]) -> _Change:
    """Return the change that CREATE, REPLACE, ALTER, DROP and CACHE make."""
    at = next((at for at, word in enumerate(words) if word not in _BEFORE_OBJECT), len(words))
    object_ = words[at] if at < len(words) else ""
    if object_ in _NAMESPACES:
        return _Change(catalogs=_names_in(found[at + 1 :]))
    # A view of files is also a table named after its path.
    of_files = "USING" in words and not {"TEMP", "TEMPORARY"}.isdisjoint(words[:at])
    if object_ not in _OBJECTS or of_files:
        return _Change(None)
    begin = next((n for n in range(at + 1, len(words)) if words[n] not in _BEFORE_NAME), len(words))
    names = {_last_part(found, begin)}
    if words[0] == "ALTER" and "RENAME" in words:
        names |= {_last_part(found, n + 1) for n, word in enumerate(words) if word == "TO"}
    if "" in names:
        return _Change(None)
    return _Change(frozenset(names), object_ in _READ_LATER or words[0] == "CACHE")


def _last_part(found: list[Token], begin: int) -> str:
    """Return the last part of the dotted name that begins at a token; empty if there is none."""
    last, at = "", begin
    while at < len(found) and found[at].kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.NUMBER):
        last = _name(found[at])
        if at + 1 >= len(found) or found[at + 1].text != ".":
            break
        at += 2
    return last
