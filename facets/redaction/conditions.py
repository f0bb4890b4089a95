"""
Find the literals of a SQL text that belong to a secret.

The text is cut into conditions: the parts between commas, `AND`, `OR` and the words that begin clauses, inside one pair
of brackets. A literal belongs to a secret if in its condition

- a name that says it is a secret is compared or assigned, on whichever side, by whichever operator, and inside
  whichever functions and casts either of the two stands: `lower(t.password) = 'x'`, `(name, token) IN (('a', 'x'))`,
  `DEFAULT`, `CASE password WHEN 'x'`;
- the result is called after a secret: `'x' AS password`, the columns of `INSERT INTO t (name, password) VALUES ...`;
- it follows the name of a secret at once, or as the next argument: `PASSWORD 'x'`, `map('password', 'x')`;
- it is joined to a secret, of which it may be a part, as pepper or salt is: `password || 'x'`, `concat(token, 'x')`;
- it follows a string that ends where a secret begins: `concat('https://me:', 'x', '@host')`, `'password=' || 'x'`;
- it is an argument of a function that encrypts, signs or compares secrets;
- it is bound by `EXECUTE IMMEDIATE ... USING`, or follows `IDENTIFIED`.

The conditions of a subquery are its own: `token IN (SELECT token FROM t WHERE kind = 'x')` says nothing about 'x'.
A number belongs to a secret only if it is compared with the name itself, and the name may be one of a number.
The text need not be valid; it is read in one pass, whatever its brackets are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs
from openlineage_pyspark.facets.redaction.names import is_login, is_secret, is_secret_number, is_shown_option
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, unquoted

_ENDS = frozenset(
    "SELECT FROM WHERE ON HAVING QUALIFY GROUP ORDER LIMIT JOIN UNION INTERSECT EXCEPT VALUES OR MATCHED INSERT UPDATE"
    " MERGE DELETE WHEN THEN ELSE INTO USING PARTITION RETURNING WINDOW LATERAL PIVOT WITH TABLE VIEW RETURN".split()
)
"""Words that end a condition, besides `AND` and `SET`."""
_COMPARES = frozenset("IN LIKE ILIKE RLIKE REGEXP BETWEEN SIMILAR CONTAINS STARTS ENDS DEFAULT GENERATED".split())
_NOTED = frozenset("AS IS NOT HASH COMMENT NULL BY IMMEDIATE".split())
_KEYWORDS = frozenset("CASE END AND SET DISTINCT IDENTIFIED".split()) | _ENDS | _COMPARES | _NOTED
"""All words that may have a meaning."""
_SIGNS = frozenset("= < > ! => ~".split())
_AWAIT_COLUMNS = frozenset("INTO TABLE VIEW INSERT WITH".split())
_SOURCES = frozenset("FROM JOIN".split())
_QUERIES = frozenset("SELECT WITH FROM VALUES".split())
_NO_CALL = frozenset(
    "in values any all some and or not on where when then else as select by using over from set".split()
)
_JOINING = frozenset("concat concat_ws format_string printf".split())
_LISTS = frozenset("array in any all some concat concat_ws coalesce".split())
"""What holds several values of one kind, so that a name and its neighbour are no pair."""
_MAPS = frozenset("map named_struct".split())
_WITH_KEY = frozenset("aes_encrypt aes_decrypt try_aes_decrypt aesencrypt aesdecrypt".split())
"""Functions whose second argument is a key."""
_KEYED = re.compile(r"hmac|cipher|crypt(?!oc)|_sign$|^sign_|with_?key")
"""In the names that users give to functions with a key; any argument may be the key."""
_COMPARING = re.compile(
    r"(?i)^(?:nullif|coalesce|nvl2?|ifnull|greatest|least|lag|lead|replace|translate|equal_null|starts_?with|ends_?with|(?:i|r)?like|regexp(?:_like)?|decode|instr|locate|position"
    r"|charindex|find_in_set|levenshtein|array_(?:contains|position|remove)|.*contains.*|.*equals?.*|.*match(?:es)?.*|.*compare.*|xpath.*)$"
)
_WITH_OPTIONS = frozenset(
    "from_json to_json schema_of_json from_csv to_csv schema_of_csv from_xml to_xml schema_of_xml from_avro to_avro "
    "schema_of_avro from_protobuf to_protobuf".split()
)
"""Functions that take the options of a source as a map."""
_FORMATS = frozenset("format_string printf".split())
_NAME = re.compile(r"[\w$@./\-\[\]*'\"]{1,200}")
# The end of a text that goes on with a value.
_BEGINS = (
    r"(?P<name>[\w.\-]{1,60})[\"']?[ \t]{0,3}[=:][ \t]{0,3}[\"']?|(?i:\b(?:bearer|basic)[ \t]{1,3})|://[^\s/@:]{0,60}:"
)
_BEFORE_VALUE = re.compile(rf"(?:{_BEGINS})$")
_BEFORE_PLACEHOLDER = re.compile(rf"(?:{_BEGINS})%")
_LONGEST_BEGINNING = 150
# What joins a name and its value.
_JOINS = re.compile(r"[=:]")
_HOLDERS = frozenset("value val v data text content plain raw string current".split())


@attrs.define
class _Condition:
    """
    What is known of the condition that is being read.

    Attributes:
        has_secret: whether it has the name of a secret, also inside brackets.
        has_column: whether that is the name of a column, and not a string in a call.
        has_number: whether it has, outside of functions, the name of a secret that may be a number.
        compares: whether it has an operator that compares, assigns, or joins strings.
        between: whether the next `AND` belongs to `BETWEEN`.
        strings: the positions of the strings, or lists of such, of inner brackets.
        numbers: the positions of the numbers outside of functions.
        size: how many tokens and brackets it has.
        last: the kind of its last token: a word in capitals, `LITERAL`, `NAME`, `)` or a sign.
        before: that of the token before it.
        name: the last name in it.
        begins: whether a string in it ends where a secret begins.
        argument: the name of the argument that it is, as in `key => 'x'`.
    """

    has_secret: bool = False
    has_column: bool = False
    has_number: bool = False
    compares: bool = False
    between: bool = False
    strings: list[object] = attrs.Factory(list)
    numbers: list[object] = attrs.Factory(list)
    size: int = 0
    last: str = ""
    before: str = ""
    name: str = ""
    begins: bool = False
    argument: str = ""


@attrs.define
class _Bracket:
    """
    An open bracket, or the `CASE` that is open, or the whole text.

    Attributes:
        opening: `(`, `[`, `{`, `CASE` or empty.
        function: the name before it in lower case; empty if it is no call.
        is_secret: whether all strings in it belong to a secret.
        in_options: whether a map in it holds the options of a source.
        is_query: whether it is a subquery.
        clause: the last word in it that began a clause.
        index: how many commas were in the clause.
        columns: the indexes of the columns whose names say that they are secret.
        columns_of_cte: likewise, of the query that `WITH` names.
        awaits_columns: whether brackets in it may hold the names of columns.
        names: the names in it if it has nothing else; else None.
        values: the strings of each of its conditions.
        rows: the same of the rows of `VALUES` in it.
        named: whether the last argument was the name of a secret.
        lambdas: whether it has a lambda function.
        operand: the condition after `CASE`.
        joins: whether it is the call of a function that joins strings.
        has_secret: whether one of its conditions has the name of a secret.
        has_column: whether that is the name of a column.
        has_number: whether one has that of a secret that may be a number.
        strings: as in a condition, of all that has ended.
        numbers: likewise.
    """

    opening: str = ""
    function: str = ""
    is_secret: bool = False
    in_options: bool = False
    is_query: bool = False
    clause: str = ""
    index: int = 0
    columns: frozenset[int] = frozenset()
    columns_of_cte: frozenset[int] = frozenset()
    awaits_columns: bool = False
    names: list[str] | None = attrs.Factory(list)
    values: list[list[object]] = attrs.Factory(list)
    rows: list[list[list[object]]] = attrs.Factory(list)
    named: bool = False
    lambdas: bool = False
    operand: _Condition | None = None
    joins: bool = False
    has_secret: bool = False
    has_column: bool = False
    has_number: bool = False
    strings: list[object] = attrs.Factory(list)
    numbers: list[object] = attrs.Factory(list)
    condition: _Condition = attrs.Factory(_Condition)


def secret_literals(
    tokens: Sequence[Token], *, all_strings: bool = False, columns: Sequence[str] = ()
) -> frozenset[int]:
    """
    Return the indexes of the literals that belong to a secret.

    Args:
        tokens: the tokens of a SQL text, without white space and comments.
        all_strings: whether the whole text is the value of a secret.
        columns: the columns of the table that the text writes, for an `INSERT` that does not name them.
    """
    if all_strings:
        return frozenset(at for at, token in enumerate(tokens) if token.kind is TokenKind.STRING)
    reading = _ConditionReading(tokens, _indexes(columns))
    reading.read()
    return frozenset(reading.found)


class _ConditionReading:
    """One pass over the tokens, with a stack of open brackets."""

    def __init__(self, tokens: Sequence[Token], columns: frozenset[int]) -> None:
        self.found: set[int] = set()
        self._columns_of_table = columns
        self._tokens = tokens
        self._stack = [_Bracket(names=None)]
        self._binds = False
        # How many brackets are open, without those of CASE.
        self._depth = 0

    def read(self) -> None:
        """Read all tokens, and end what is still open."""
        for at, token in enumerate(self._tokens):
            if token.kind is TokenKind.SIGN:
                self._sign(at, token.text)
            elif token.kind is TokenKind.STRING:
                self._string(at, unquoted(token))
            elif token.kind is TokenKind.NUMBER:
                self._number(at)
            elif token.kind is TokenKind.NAME or not self._keyword(at, token.text.upper()):
                self._name(at, unquoted(token) if token.kind is TokenKind.NAME else token.text)
        while len(self._stack) > 1:
            self._close()
        self._end_condition()

    @property
    def _top(self) -> _Bracket:
        return self._stack[-1]

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def _hide(self, strings: list[object]) -> None:
        """Note all strings of a list and of the lists in it, and empty it, so that nothing is read twice."""
        pending = [strings]
        while pending:
            for item in (now := pending.pop()):
                if isinstance(item, list):
                    pending.append(item)
                elif isinstance(item, int):
                    self.found.add(item)
            now.clear()

    def _note(self, kind: str) -> None:
        condition = self._top.condition
        condition.before, condition.last = condition.last, kind
        condition.size += 1

    # What the tokens do.

    def _sign(self, at: int, sign: str) -> None:
        if sign in ("(", "[", "{"):
            self._open(at, sign)
            self._depth += 1
        elif sign in (")", "]", "}"):
            self._close_bracket()
        elif sign == ",":
            self._end_condition()
            self._top.index += 1
        elif sign == ";":
            self._end_condition()
            self._stack[-1] = _Bracket(self._top.opening, self._top.function, names=None)
            self._binds = False
        else:
            self._operator(sign)

    def _operator(self, sign: str) -> None:
        top, condition = self._top, self._top.condition
        if sign == ">" and condition.last == "-":
            top.lambdas = True
        elif sign in _SIGNS or (sign == condition.last == "|"):
            condition.compares = True
        if sign == "=>" and condition.size == 1:
            condition.argument = condition.name.lower()
        if sign != ".":
            top.names = None
        self._note(sign)

    def _close_bracket(self) -> None:
        if self._depth == 0:
            return
        while self._top.opening == "CASE":
            self._close()
        self._close()
        self._depth -= 1

    def _open(self, at: int, sign: str) -> None:
        top = self._top
        before = self._tokens[at - 1] if at > 0 else None
        function = ""
        if sign == "(" and before is not None and before.kind in (TokenKind.WORD, TokenKind.NAME):
            function = (unquoted(before) if before.kind is TokenKind.NAME else before.text).lower()
        opened = _Bracket(sign, function, joins=function in _JOINING)
        opened.in_options = top.in_options or top.function in _WITH_OPTIONS
        opened.is_secret = top.is_secret or self._argument_is_secret()
        if function and function not in _NO_CALL:
            has_key = _KEYED.search(function) is not None and function not in _WITH_KEY
            opened.is_secret = opened.is_secret or is_secret(function) or has_key
        if self._text(at + 1).upper() in _QUERIES:
            opened.is_query = True
            opened.names = None
            if top.condition.last == "AS":
                opened.columns = top.columns if top.clause != "WITH" else top.columns_of_cte
                top.columns_of_cte = frozenset()
        if top.clause == "VALUES" and sign == "(" and function in ("", "values"):
            opened.columns = top.columns
        self._stack.append(opened)

    def _argument_is_secret(self) -> bool:
        """Return whether the argument that is being read is a key, or follows the name of a secret."""
        top = self._top
        argument = top.condition.argument
        as_key = top.function in _WITH_KEY and (argument == "key" if argument else top.index == 1)
        return top.is_secret or top.named or as_key or top.condition.begins

    def _close(self) -> None:
        """End the bracket on top of the stack, and hand what it says to the condition around it."""
        self._end_condition()
        closed = self._stack.pop()
        top = self._top
        is_call = bool(closed.function) and closed.function not in _NO_CALL
        compares = closed.has_secret and is_call and (closed.lambdas or _COMPARING.match(closed.function))
        if compares or (closed.has_column and closed.joins):
            self._hide(closed.strings)
        if closed.names and closed.opening == "(" and closed.function != "partition":
            self._columns(closed.names)
            if top.condition.last == "AS" and any(map(is_secret, closed.names)):
                self._hide(top.condition.strings)
        if closed.is_query:
            top.rows = closed.rows
        elif top.clause == "VALUES" and closed.opening == "(" and not is_call:
            top.rows.append(closed.values)
        condition = top.condition
        condition.has_secret = condition.has_secret or closed.has_secret
        condition.has_column = condition.has_column or closed.has_column
        if not closed.is_query and not is_call and closed.opening != "[":
            condition.numbers.append(closed.numbers)
            condition.has_number = condition.has_number or closed.has_number
        condition.strings.append(closed.strings)
        top.names = None if closed.opening != "(" or is_call else top.names
        self._note(")")

    def _columns(self, names: list[str]) -> None:
        """Note which columns are secret: for the rows that follow, or those that stood before."""
        top = self._top
        indexes = _indexes(names)
        if top.clause == "WITH":
            top.columns_of_cte = indexes
        elif top.awaits_columns:
            top.columns = indexes
        for row in top.rows:
            for index in indexes:
                if index < len(row):
                    self._hide(row[index])

    def _string(self, at: int, value: str) -> None:
        top, condition = self._top, self._top.condition
        follows_name = condition.last == "NAME" and (is_secret(condition.name) or is_login(condition.name))
        joins = condition.last == "LITERAL" and at - 1 in self.found
        is_pair = _is_assigned_name(self._text(at - 1), self._tokens[at - 2] if at > 1 else None)
        by_arrow = condition.last == "=>" and is_login(condition.name)
        if not value:
            pass
        elif self._argument_is_secret() or follows_name or joins or is_pair or by_arrow or top.clause == "BIND":
            self.found.add(at)
        elif condition.last != "COMMENT" and not (_is_path(value) or (top.opening == "[" and is_secret(value))):
            condition.strings.append(at)
        is_call = bool(top.function) and top.function not in _NO_CALL
        if (top.opening == "[" or is_call) and _NAME.fullmatch(value) and is_secret(value):
            condition.has_secret = True
            condition.has_column = condition.has_column or top.opening == "["
        condition.begins = condition.begins or _begins_secret(_BEFORE_VALUE, value[-_LONGEST_BEGINNING:])
        top.is_secret = top.is_secret or (top.function in _FORMATS and _begins_secret(_BEFORE_PLACEHOLDER, value))
        top.names = None
        condition.name = value
        self._note("LITERAL")

    def _number(self, at: int) -> None:
        if self._top.clause == "BIND":
            self.found.add(at)
        self._top.condition.numbers.append(at)
        self._top.names = None
        self._note("LITERAL")

    def _keyword(self, at: int, word: str) -> bool:
        """Read a word that may have a meaning; return whether it has."""
        if word not in _KEYWORDS:
            return False
        condition = self._top.condition
        if word == "CASE":
            self._stack.append(_Bracket("CASE", in_options=self._top.in_options, is_secret=self._argument_is_secret()))
        elif word == "END" and self._top.opening == "CASE":
            self._close()
        elif word == "AND":
            if condition.between:
                condition.between = False
                self._note(word)
            else:
                self._end_condition()
        elif (word, condition.last) in (("FROM", "DISTINCT"), ("WITH", "IDENTIFIED")) and condition.compares:
            self._note(word)
        elif word in _ENDS or (word == "SET" and self._text(at + 1).upper() != "DEFAULT"):
            self._end_condition()
            self._begin_clause(word)
        elif self._compares(at, word):
            condition.compares = True
            condition.between = condition.between or word == "BETWEEN"
            condition.has_secret = condition.has_secret or word == "IDENTIFIED"
            self._top.names = None
            self._note(word)
        elif word in _NOTED:
            self._binds = self._binds or word == "IMMEDIATE"
            condition.compares = condition.compares or word in ("IS", "HASH")
            self._top.names = None
            self._note(word)
        else:
            return False
        return True

    def _compares(self, at: int, word: str) -> bool:
        if word == "IDENTIFIED":
            return self._text(at + 1).upper() in ("BY", "WITH")
        return word in _COMPARES or (word == "DISTINCT" and self._top.condition.last in ("IS", "NOT"))

    def _begin_clause(self, word: str) -> None:
        top = self._top
        top.index = 0
        top.names = None
        top.clause = "BIND" if word == "USING" and self._binds else word
        if word == "INSERT":
            top.columns = self._columns_of_table
        if word in _AWAIT_COLUMNS:
            top.awaits_columns = True
        elif word in ("SELECT", "VALUES", "FROM", "SET", "WHERE"):
            top.awaits_columns = False
        if word in ("JOIN", "WHERE", "SELECT"):
            top.rows = []

    def _name(self, at: int, name: str) -> None:
        top, condition = self._top, self._top.condition
        following = self._text(at + 1)
        qualifies = following == "." and self._text(at + 2).lower() not in _HOLDERS
        if following != "(" and not qualifies and is_secret(name):
            condition.has_secret = condition.has_column = True
            condition.has_number = condition.has_number or is_secret_number(name)
        if top.names is not None and following in (",", ")") and condition.size == 0:
            top.names.append(name)
        elif following != ".":
            top.names = None
        condition.name = name
        self._note("NAME")

    # The end of a condition.

    def _end_condition(self) -> None:
        """Decide about the literals of the condition that ends, and begin another one."""
        top, condition = self._top, self._top.condition
        if top.opening == "CASE":
            self._end_branch(condition)
        in_columns = top.index in top.columns and (top.clause == "SELECT" or (top.opening == "(" and not top.is_query))
        called = _is_alias(condition) and is_secret(condition.name) and top.clause not in _SOURCES
        if (condition.has_secret and condition.compares) or called or in_columns:
            self._hide(condition.strings)
        if (condition.has_number and condition.compares) or (called and is_secret_number(condition.name)):
            self._hide(condition.numbers)
        if top.clause == "VIEW" and top.index and condition.size == 1 and condition.has_secret:
            # The names of several columns of LATERAL VIEW.
            for strings in top.values[-top.index :]:
                self._hide(strings)
        if (
            top.function == "concat_ws"
            and top.index == 0
            and condition.last == "LITERAL"
            and _JOINS.search(condition.name)
        ):
            top.function = "map"
        top.named = self._names_next(condition)
        if not top.is_query or top.clause == "SELECT":
            top.has_secret = top.has_secret or condition.has_secret
            top.has_column = top.has_column or condition.has_column
            top.has_number = top.has_number or condition.has_number
        if not (top.is_query and top.clause not in ("SELECT", "VALUES")):
            top.strings.append(condition.strings)
            top.numbers.append(condition.numbers)
        top.values.append(condition.strings)
        top.condition = _Condition()

    def _names_next(self, condition: _Condition) -> bool:
        """Return whether a condition is a string that names the secret in the next argument, or begins it."""
        top = self._top
        if condition.begins and top.opening == "(" and top.function:
            return True
        if top.opening != "(" or top.function in _LISTS:
            return top.function == "map_from_arrays" and condition.has_secret
        if condition.size != 1 or condition.last != "LITERAL" or top.named:
            return top.function == "map_from_arrays" and condition.has_secret
        name = condition.name
        if top.function in _MAPS:
            return not is_shown_option(name) if top.in_options else is_secret(name) or is_login(name)
        return _NAME.fullmatch(name) is not None and is_secret(name)

    def _end_branch(self, condition: _Condition) -> None:
        """Compare the operand of `CASE` with that of a `WHEN`."""
        top = self._top
        if top.clause == "":
            top.operand = condition
            return
        operand = top.operand
        if top.clause != "WHEN" or operand is None or not operand.size:
            return
        if operand.has_secret:
            self._hide(condition.strings)
            if operand.has_number:
                self._hide(condition.numbers)
        if condition.has_secret:
            self._hide(operand.strings)


def _indexes(columns: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the columns whose names say that they are secret."""
    return frozenset(index for index, name in enumerate(columns) if is_secret(name))


def _begins_secret(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a secret begins where a pattern matches in a text: after its name, or after a login."""
    return any(found["name"] is None or is_secret(found["name"]) for found in pattern.finditer(text))


def _is_path(value: str) -> bool:
    """Return whether a string is a path in JSON, which names a value."""
    return value.startswith("$.") and _NAME.fullmatch(value) is not None


def _is_assigned_name(sign: str, name: Token | None) -> bool:
    """Return whether a string follows another one that names a secret: `'password' = 'x'`."""
    if sign != "=" or name is None or name.kind is not TokenKind.STRING:
        return False
    text = unquoted(name)
    return _NAME.fullmatch(text) is not None and (is_secret(text) or is_login(text))


def _is_alias(condition: _Condition) -> bool:
    """Return whether the last name of a condition is that of its result."""
    if condition.last == "LITERAL":
        return condition.before == "AS"
    return condition.last == "NAME" and condition.before in ("AS", "LITERAL", ")")
