"""
Find the values that names give to secrets in free text, in whatever language it is written.

A name is a word of letters, digits, `_`, `-` and `.`. It names a value if one of these stands between the two: an
assignment (`=`, `:`, `=>`, `->`), a comparison (`==`, `<>`, `IN`, `LIKE`), a comma in a pair, or the end of an XML tag.
White space is enough before a quoted text, or after the name of an option (`--password x`). The value may stand first
(`'x' = password`), and its name may be a value itself (`name=password, value=x`).

How a value begins says where it ends: at its own closing quote (however often it is escaped), at its own closing
bracket, at the end of a YAML block, or at white space. Each part of the text is read a bounded number of times.
"""

from __future__ import annotations

import re

from openlineage_pyspark.facets.redaction.names import is_harmless_value, is_login, is_secret

Span = tuple[str, int, int]
"""A name, and the start and end of its value."""

# Without any of these no name says that it is a secret or a login.
_STEM = re.compile(
    r"(?i)pass|pw|psw|secret|token|cred|sess|key|jwt|bearer|assertion|sig|sas|hmac|auth|cookie|jaas|fernet|pin|pat|otp"
    r"|dsn|salt|pepper|cvv|cvc|mnemonic|code|conn|webhook|kennwort|wachtwoord|contrase|senha|user|uid|login"
)
_NAME = re.compile(r"[\w.\-$]+")
_SIGN = re.compile(
    r"""
    (?P<close>(?:\\{0,127}["'`]{1,3}|[)\]}]|&(?:quot|\#3[49]);|\\{1,9}(?:u002[27]|x2[27])|%2[27]){0,6})
    (?:[ \t]{1,4}(?i:as)[ \t]{1,4}\w{1,30}(?:\([\d, ]{0,10}\))?\){1,3}|::[ \t]{0,4}\w{1,30}|\#\d{1,9}L?\)?
        |\[["']?\w{1,30}["']?\])?
    (?:[ \t]{1,4}(?i:is|was|value)(?=[ \t]{0,4}[=:'"])
        |[ \t]{1,4}\(?\w{1,30}(?:\([\d, ]{0,10}\))?\)?(?=[ \t]{0,4}:?=[ \t]{0,4}["'`]))?
    (?:
        [ \t]{0,8}(?P<sign>%3[DdAa]|&\#(?:61|58);|\\{1,9}(?:u003[DdAa]|x3[DdAa])
            |<-|<=>|=>|->|→|!={1,2}|={1,3}|[?+.:|~]{1,2}=|<>|[:,|])
            [ \t]{0,8}(?:\n[ \t]{0,8}(?=['"]))?
        |\s{1,20}(?P<below><=>|={1,3}|!=|<>)\s{0,8}
        |[ \t]{1,8}(?i:(?:not[ \t]{1,4})?(?P<word>in|i?like(?:[ \t]{1,4}(?:any|all|some))?|rlike|regexp|between|when
            |contains|startswith|endswith|default|eq|ne|is|was|to
            |is[ \t]{1,4}(?:not[ \t]{1,4})?distinct[ \t]{1,4}from))[ \t]{0,8}(?=[\\bBrRuUnNxX]{0,3}["']|[(\[{])
        |(?P<quoted>[ \t]{1,8})(?=[bBrRuUnNxX]?\\{0,127}["'])
        |(?P<call>\()[ \t]{0,4}(?=[bBrRuU]?\\{0,127}["'])
        |(?P<built>(?=\())
        |(?P<blank>[ \t]{1,8})(?=\S)
    )
    """,
    re.VERBOSE,
)
_OPENING = re.compile(r"(?P<prefix>[bBrRuUfFnNxX]{0,2}&?)(?P<escapes>\\{0,127})(?P<quote>'{3}|\"{3}|['\"`])")
_CODED_QUOTE = re.compile(r"&(?:quot|#3[49]);|\\{1,9}(?:u002[27]|x2[27])|%2[27]")
_JOINED = re.compile(r"[ \t]{0,8}(?:\|\||\+|(?i:(?<=[\s'\"])and(?=[\s'\"])))?[ \t]{0,8}(?=[bBrRuUnNxX]?\\{0,127}['\"])")
_COLLECTION = re.compile(r"(?:new[ \t]{1,4})?[\w.$]{0,80}(?:\[[\w.]{0,40}\])?(?=[(\[{])")
_STRUCTURE = re.compile(r"[()\[\]{}'\"]")
# A value ends at white space and quotes, and before another `name=`; a quote between two letters is part of it.
_BARE = re.compile(
    r"""(?:(?![,;&][ \t]{0,8}[\w.\-]{1,60}[=:])(?:[^\s'"`]|(?<=\w)['"`](?=\w)|(?<=\\)\n[ \t]{0,40}))+""", re.VERBOSE
)
# In a list such as `Server=x;Pwd=two words;` it ends at the semicolon; other texts have few semicolons.
_LISTED = re.compile(r"[^;=\n'\"]{1,200}={0,2}(?=;)")
_REST_OF_LINE = re.compile(r"""[^'"\n]+""")
_SCHEME = re.compile(
    r"(?i)(?:bearer|basic|token|digest|negotiate|sharedaccesssignature|sharedkey|[!&][\w!]{0,20})[ \t]{1,8}(?=\S)"
)
_TYPED = re.compile(r"(?:\[[\w., |\[\]]{0,60}\])?[ \t]{0,4}=[ \t]{0,4}(?=[bBrRuU]?['\"])")
_BELOW = re.compile(r"\r?\n(?=[^\s])(?![\w.\-]{1,60}[ \t]{0,4}[=:])")
_CLOSING = ")]}.,;:"
_PLACEHOLDER = re.compile(r"(?:\*{3}|\?|\$\{[\w.:\-]{1,200}\}|\$\{\*{3}\}|(?i:true|false|none|null))?")
_TAG = re.compile(r"(?:<|&lt;)(?:[\w\-]{1,40}:)?$")
_IN_TAG = re.compile(r"(?:<|&lt;)(?:[\w\-]{1,40}:)?(?i:name|key|property|param)(?:>|&gt;)\s{0,40}$")
_END_OF_TAG = re.compile(r"[^<>&]{0,400}(?:>|&gt;)(?:<!\[CDATA\[)?")
_ELEMENT = re.compile(r"""["'][^<>/\n]{0,200}>""")
_TEXT_OF_ELEMENT = re.compile(r"(?:[^<&\]]|&(?!lt;)|\](?!\]>))+")
_NAME_FIELDS = frozenset(
    "name key k property propertyname param parameter field header variable option attribute".split()
)
_VALUE_FIELDS = frozenset("value val v content data".split())
_NAMED = re.compile(
    r"""\\{0,127}["'`]?[ \t]{0,8}(?:=>|->|[:=])[ \t]{0,8}(?P<open>\\{0,127}["'`]?)(?P<name>[\w.\-]{1,200})(?![\w.\-])"""
)
_NEAR = 200
_BEFORE = re.compile(
    r"(?P<sign><=>|={1,3}|<>|!=|\.(?:equals\w{0,20}|eq|contentEquals|compareTo|startswith|endswith)\("
    r"|[ \t](?:is|eq|like)(?=[ \t]))[ \t]{0,4}(?:[\w.]{1,60}[(\[]['\"]?)?[\w.]{0,60}$"
)
_CALL_IN_CALL = re.compile(r"\w\(\w{1,30}\($")
_BLOCK = re.compile(r"[|>][+\-]?\d?[ \t]{0,8}(?=\r?\n)")
_NEXT_LINE = re.compile(r"\r?\n(?P<indent>[ \t]{0,200})(?P<item>-[ \t])?(?=[^\s])(?!at |File |\.\.\. |\^|[+:|]-)")
_LINE_UP_TO_NAME = re.compile(r"[ \t]{0,100}(?:-[ \t]{1,4})?[\"']?$")
_TWO_WORDS = frozenset("key keys id code phrase word string".split())
_OWNER = re.compile(
    r"(?i)(?<![\w.\-])(?:access|account|aes|api|app|application|auth|client|consumer|decryption|encryption|kms|license"
    r"|master|pass|private|secret|session|shared|signing|ssh|subscription) $"
)
_FAR = 2000


def is_placeholder(value: str) -> bool:
    """Return whether a whole value only stands for one (`***`, `?`, `${NAME}`) or tells nothing (true, null)."""
    return _PLACEHOLDER.fullmatch(value) is not None


def named_values(text: str) -> list[Span]:
    """
    Return the values of secrets and logins in a text, in order, none overlapping another.

    Args:
        text: any text.
    """
    return _NamedValues(text).spans() if _STEM.search(text) is not None else []


class _NamedValues:
    """
    One pass over the names of a text.

    `_budget` bounds what is read ahead in vain, for brackets and quotes that are never closed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._budget = 4 * len(text) + 10_000
        self._found: list[Span] = []
        # Where a field called `value` still belongs to a field that named a secret.
        self._awaited = -1
        # A value whose name may follow, and where it ends.
        self._value_before: tuple[int, int] | None = None

    def spans(self) -> list[Span]:
        at = 0
        while (found := _NAME.search(self.text, at)) is not None:
            at = max(self._read(found.start(), found.end()), found.end())
        spans: list[Span] = []
        done = 0
        for name, start, end in sorted(self._found, key=lambda span: span[1:]):
            if start >= done:
                spans.append((name, start, end))
                done = end
        return spans

    def _read(self, start: int, end: int) -> int:
        """Read a name, and the value that it has; return where to go on."""
        name = self.text[start:end]
        low = name.lower()
        if low in _VALUE_FIELDS:
            return self._value_field(start, end)
        if low in _NAME_FIELDS and self._names_a_secret(end):
            return self._after_name_field(end)
        if low in _TWO_WORDS:
            name = self._with_word_before(start) + name
        secret = is_secret(name)
        if not secret and not is_login(name.strip("-.$")):
            return end
        opening = self._opening(start)
        if secret:
            self._reversed(name, opening, start)
            before = self.text[max(0, opening - 60) : opening]
            if _IN_TAG.search(before) is not None:
                self._awaited = end + _NEAR
                return end
            if _TAG.search(before) is not None:
                return self._element(name, end)
        value = self._start_of_value(name, opening, end, secret=secret)
        return end if value is None else self._hide(name, start, *value)

    def _hide(self, name: str, begins: int, value: int, sign: str) -> int:
        """Note the value that starts at an index; return where to go on."""
        start, end = self._block(begins, value) if sign in (":", "=") else (value, value)
        if end == start:
            start, end = self._value(value, name, sign)
        shown = self.text[start:end]
        if end > start and not is_harmless_value(name, shown) and not is_placeholder(shown):
            self._found.append((name.strip("-.$"), start, end))
        return max(end, value)

    def _with_word_before(self, start: int) -> str:
        """Return the word before a name, if one blank stands between them: `api key`, `session id`."""
        found = _OWNER.search(self.text[max(0, start - 40) : start])
        return found.group() if found is not None else ""

    def _opening(self, start: int) -> int:
        """Return where a name begins with its quotes, their escapes and their prefix."""
        at = start
        while at > 0 and start - at < 128 and self.text[at - 1] in "\"'`\\":
            at -= 1
        prefixed = at < start and self.text[at - 1 : at] in ("b", "u", "r") and not self.text[at - 2 : at - 1].isalnum()
        return at - 1 if prefixed and at > 0 else at

    def _start_of_value(self, name: str, opening: int, end: int, *, secret: bool) -> tuple[int, str] | None:
        """Return where the value of a name begins, and the sign before it; None if it has none."""
        found = _SIGN.match(self.text, end)
        if found is None:
            return None
        sign = found["sign"] or found["below"]
        if sign == ",":
            return (found.end(), ",") if self._is_pair(name, opening, found) else None
        if sign == "|" and (self.text[max(0, opening - 8) : opening].rstrip(" ")[-2:] not in ("|", "\n|")):
            return None  # no row of a printed table that begins with the name
        if sign is not None:
            below = _BELOW.match(self.text, found.end()) if sign == "=" else None
            return (found.end() if below is None else below.end()), sign
        if found["word"] is not None:
            return (found.end(), found["word"].lower()) if secret else None
        if found["quoted"] is not None:
            return found.end(), " "
        if found["call"] is not None:
            return (found.end(), "(") if secret else None
        if found["built"] is not None:
            is_class = name[:1].isupper() and "." not in name and self.text[opening - 1 : opening] != "."
            return (found.end(), "(") if secret and is_class and not found["close"] else None
        is_option = name.startswith("--") or (name.startswith("-") and secret) or self._is_netrc(opening, secret=secret)
        follows_option = (
            self.text.startswith("-", found.end()) and self.text[found.end() + 1 : found.end() + 3].strip("-").isalpha()
        )
        return (found.end(), " ") if is_option and not follows_option and not found["close"] else None

    def _is_netrc(self, opening: int, *, secret: bool) -> bool:
        """Return whether a blank assigns, as in `machine h login me password x` and `ENV PASSWORD x`."""
        return (
            secret
            and re.search(
                r"\blogin[ \t]{1,4}\S{1,80}\s{1,4}$|\b(?:setenv|ENV)[ \t]{1,4}$",
                self.text[max(0, opening - 100) : opening],
            )
            is not None
        )

    def _is_pair(self, name: str, opening: int, found: re.Match[str]) -> bool:
        """Return whether a comma stands between a name and its value: in a tuple, a list of pairs, or arguments."""
        before = self.text[max(0, opening - 80) : opening].rstrip()
        if any(bracket in found["close"] for bracket in ")]}"):
            return found["close"] == ")" and _CALL_IN_CALL.search(before) is not None
        if before.endswith("(") or name.startswith("-"):
            return True
        outside = before[:-1].rstrip()
        quoted = _OPENING.match(self.text, found.end())
        return before.endswith("[") and outside.endswith(("[", ",", "(")) and quoted is not None

    # Values that begin somewhere else than after the name of the secret.

    def _names_a_secret(self, end: int) -> bool:
        found = _NAMED.match(self.text, end)
        return found is not None and is_secret(found["name"])

    def _after_name_field(self, end: int) -> int:
        """Read `name="password"`; its value is in the field `value` before or after it, or in its XML element."""
        found = _NAMED.match(self.text, end)
        if found is None:
            return end
        if self._value_before is not None and found.end() - self._value_before[1] < _NEAR:
            self._found.append((found["name"], *self._value_before))
        self._value_before = None
        element = _ELEMENT.match(self.text, found.end())
        if element is not None and (inner := _TEXT_OF_ELEMENT.match(self.text, element.end())) is not None:
            return self._text_of_element(found["name"], inner)
        self._awaited = found.end() + _NEAR
        return found.end()

    def _value_field(self, start: int, end: int) -> int:
        """Read a field called `value`, whose name may stand before or after it."""
        opening = self._opening(start)
        is_tag = _TAG.search(self.text[max(0, opening - 60) : opening]) is not None
        if start <= self._awaited and is_tag:
            self._awaited = -1
            return self._element("value", end)
        value = self._start_of_value("value", opening, end, secret=False)
        if value is None:
            return end
        if start <= self._awaited:
            self._awaited = -1
            return self._hide("value", start, *value)
        if value[1] not in ("=", ":", "=>", "->"):
            return end
        quoted = self._quoted(value[0])
        if quoted is not None and not is_placeholder(self.text[quoted[0] : quoted[1]]):
            self._value_before = quoted
        return end

    def _element(self, name: str, end: int) -> int:
        """Note the text of the XML element whose tag has the name of a secret."""
        tag = _END_OF_TAG.match(self.text, end)
        if tag is None:
            return end
        self._awaited = tag.end()
        inner = _TEXT_OF_ELEMENT.match(self.text, tag.end())
        if inner is not None and not tag.group().endswith("/>"):
            self._text_of_element(name, inner)
        # The value may be an attribute.
        return end

    def _text_of_element(self, name: str, inner: re.Match[str]) -> int:
        if inner.group().strip() and not is_placeholder(inner.group().strip()):
            self._found.append((name, inner.start(), inner.end()))
        return inner.end()

    def _reversed(self, name: str, opening: int, start: int) -> None:
        """Note the quoted value that a name is compared with if it stands before the name: `'x' = password`."""
        first = max(0, start - 150)
        sign = _BEFORE.search(self.text[first:start]) or _BEFORE.search(self.text[first:opening])
        if sign is None:
            return
        close = first + sign.start()
        while close > 0 and self.text[close - 1] in " \t" and first < close:
            close -= 1
        quote = self.text[close - 1 : close]
        if quote not in ("'", '"'):
            return
        begin = self.text.rfind(quote, max(0, close - _NEAR * 2), close - 1)
        value = self.text[begin + 1 : close - 1]
        if begin >= 0 and "\n" not in value and not is_placeholder(value):
            self._found.append((name, begin + 1, close - 1))

    # Where a value ends.

    def _value(self, start: int, name: str, sign: str) -> tuple[int, int]:
        """Return the start and end of the value that begins at an index; they are equal if there is none."""
        quoted = self._quoted(start)
        if quoted is not None:
            end = self._joined(quoted[1])
            return quoted[0], end + (self.text[end : end + 1] != self.text[quoted[1] : quoted[1] + 1])
        collection = self._collection(start)
        if collection is not None:
            typed = self._typed(collection[1]) if sign == ":" else None
            return collection if typed is None else (start, typed)
        if name.lower().endswith(("authorization", "cookie")):
            found = _REST_OF_LINE.match(self.text, start)
        else:
            scheme = _SCHEME.match(self.text, start)
            found = _LISTED.match(self.text, start) if sign == "=" else None
            if found is None or is_placeholder(found.group()):
                found = _BARE.match(self.text, scheme.end() if scheme is not None else start)
        if found is None:
            return start, start
        end = start + len(self.text[start : found.end()].rstrip(_CLOSING))
        typed = self._typed(end) if sign == ":" else None
        return start, end if typed is None else typed

    def _typed(self, end: int) -> int | None:
        """Return the end of the text after a type, as in `password: str = "x"`; None if none stands there."""
        typed = _TYPED.match(self.text, end)
        given = self._quoted(typed.end()) if typed is not None else None
        return min(given[1] + 1, len(self.text)) if given is not None else None

    def _quoted(self, start: int) -> tuple[int, int] | None:
        """Return the start and end of the text in quotes that begin at an index; None if there are none."""
        opening = _OPENING.match(self.text, start)
        if opening is None:
            return self._quoted_by_code(start)
        begin, quote, level = opening.end(), opening["quote"], len(opening["escapes"])
        if len(quote) == 3 and self.text.find(quote, begin, begin + _FAR) < 0:
            quote, begin = quote[0], begin - 2
        line = self.text.find("\n", begin)
        line = len(self.text) if line < 0 else line
        close = self._closing(begin, max(line, min(begin + _FAR, len(self.text))), quote, level)
        return begin, line if close is None else close

    def _quoted_by_code(self, start: int) -> tuple[int, int] | None:
        """Return the start and end of a text in quotes as HTML, JSON or a URL encode them; None if there is none."""
        quote = _CODED_QUOTE.match(self.text, start)
        close = self.text.find(quote.group(), quote.end(), quote.end() + _FAR) if quote is not None else -1
        return (quote.end(), close) if quote is not None and close >= 0 else None

    def _closing(self, begin: int, last: int, quote: str, level: int) -> int | None:
        """
        Return where the quote that began a text ends it, before its escapes.

        Args:
            begin: where the text begins.
            last: where to stop.
            quote: the quote.
            level: the number of backslashes before the first quote; an inner one has one more for each of them, and
                one for itself.
        """
        at = begin
        while self._budget > 0 and (at := self.text.find(quote, at, last)) >= 0:
            self._budget -= 1
            escapes = at
            while escapes > begin and self.text[escapes - 1] == "\\":
                escapes -= 1
            self._budget -= at - escapes
            doubled = level == 0 and len(quote) == 1 and at > begin and self.text.startswith(quote, at + 1)
            if doubled:
                at += 2
            elif (at - escapes) % (2 * (level + 1)) == level:
                return at - level
            else:
                at += 1
        return None

    def _joined(self, end: int) -> int:
        """Return where the last of the quoted texts ends that SQL, Python or a shell joins to one value."""
        while (closing := _OPENING.match(self.text, end)) is not None:
            between = _JOINED.match(self.text, closing.end())
            following = self._quoted(between.end()) if between is not None else None
            if following is None:
                return end
            end = following[1]
        return end

    def _collection(self, start: int) -> tuple[int, int] | None:
        """Return the inside of the brackets that begin at an index, or the whole call or word that has them."""
        found = _COLLECTION.match(self.text, start)
        if found is None:
            return None
        close = self._closing_bracket(found.end())
        if close is None:
            return None
        rest = _BARE.match(self.text, close + 1)
        tail = rest.group().rstrip(_CLOSING) if rest is not None else ""
        if found.end() == start and not tail:
            return start + 1, close
        return start, close + 1 + len(tail)

    def _closing_bracket(self, start: int) -> int | None:
        """Return where the bracket at an index is closed; brackets in quotes do not count."""
        depth, at = 0, start
        while self._budget > 0 and (found := _STRUCTURE.search(self.text, at)) is not None:
            self._budget -= found.end() - at
            at = found.end()
            if found.group() in "([{":
                depth += 1
            elif found.group() in ")]}":
                depth -= 1
                if depth <= 0:
                    return found.start()
            else:
                close = self._closing(at, min(at + _FAR, len(self.text)), found.group(), 0)
                at = at if close is None else close + 1
        return None

    def _block(self, name: int, value: int) -> tuple[int, int]:
        """Return the lines of a YAML value that begins below its name; equal indexes if there is none."""
        mark = _BLOCK.match(self.text, value)
        at = value if mark is None else mark.end()
        following = _NEXT_LINE.match(self.text, at)
        if following is None:
            return value, value
        first = max(0, name - 110)
        line = self.text.rfind("\n", first, name) + 1
        up_to_name = self.text[line or first : name]
        if _LINE_UP_TO_NAME.fullmatch(up_to_name) is None:
            return value, value
        indent = len(up_to_name) - len(up_to_name.lstrip(" \t-"))
        if len(following["indent"]) < indent + (following["item"] is None):
            return value, value
        begin = end = following.end()
        while True:
            end = self.text.find("\n", end)
            end = len(self.text) if end < 0 else end
            more = _NEXT_LINE.match(self.text, end)
            if more is None or len(more["indent"]) < indent + (more["item"] is None):
                return begin, end
            end = more.end()
