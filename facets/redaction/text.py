"""
Redact free text, which may hold anything: values of SQL strings, error messages, comments.

It removes everything in a URL except its address; the values of names that mean secrets and logins; private keys, and
tokens in the form of a well-known service; and the values that are secret according to the configuration.

A name is a word of letters, digits, `_`, `-` and `.`. It names a value if one of these is between the two: an
assignment (`=`, `:`, `=>`, `->`), a comparison (`==`, `<>`, `IN`, `LIKE`), a comma in a pair, or the end of an XML tag.
White space is enough before a quoted text, or after the name of an option (`--password x`). The value may come first
(`'x' = password`), and its name may be a value itself (`name=password, value=x`). A password in a one-letter option of
a command line has no such name; the command shows that it is one.

A value of one word ends with the word. A value in quotes ends with them, unless they are escaped or contain other
quotes. Any other value, such as a collection, a call, a text with escapes or of several lines, is hidden up to the end
of its line and of the lines that continue it, so it does not matter where in them it ends. Every step is linear in the
length of the text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from openlineage_pyspark.facets.redaction.names import (
    is_harmless_value,
    is_login,
    is_secret,
    is_shown_option,
    is_shown_property,
)
from openlineage_pyspark.facets.urls import PASSWORD_IN_TEXT, REDACTED, url_at, without_credentials

Span = tuple[str, int, int]
"""A name, and the start and end of its value."""

# A name without any of these is never a secret or a login.
_STEM = re.compile(
    r"(?i)pass|pw|psw|secret|token|cred|sess|key|jwt|bearer|assertion|sig|sas|hmac|auth|cookie|jaas|fernet|pin|pat|otp"
    r"|dsn|salt|pepper|cvv|cvc|mnemonic|code|conn|webhook|kennwort|wachtwoord|contrase|senha|user|uid|login"
)
_NAME = re.compile(r"[\w.\-$]+")
_ASSIGNED = re.compile(
    r"""
    (?P<close>(?:\\{0,127}["'`]{1,3}|[)\]}]|&(?:quot|\#3[49]);|\\{1,9}(?:u002[27]|x2[27])|%2[27]){0,6})
    (?:[ \t]{1,4}(?i:as)[ \t]{1,4}\w{1,30}(?:\([\d, ]{0,10}\))?\){1,3}|::[ \t]{0,4}\w{1,30}|\#\d{1,9}L?\)?
        |\[["']?\w{1,30}["']?\])?
    (?:[ \t]{1,4}(?i:is|was|value)(?=[ \t]{0,4}[=:'"])
        |[ \t]{1,4}\(?\w{1,30}(?:\([\d, ]{0,10}\))?\)?(?=[ \t]{0,4}:?=[ \t]{0,4}["'`]))?
    (?:
        [ \t]{0,8}(?P<operator>%3[DdAa]|&\#(?:61|58);|\\{1,9}(?:u003[DdAa]|x3[DdAa])
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
_QUOTED = re.compile(r"(?P<quote>['\"`])(?P<value>[^'\"`\\\n]{1,2000})(?P=quote)(?![\w'\"`\\])")
_CONTINUES = re.compile(r"[ \t]{0,8}(?:\|\||[+\\]|(?i:and(?=[\s'\"]))|(?=[bBrRuUfFnNxX]?\\{0,127}['\"`]))")
# A value ends at white space and quotes, and before another `name=`; a quote between two letters is part of it.
_BARE = re.compile(r"""(?:(?![,;&][ \t]{0,8}[\w.\-]{1,60}[=:])(?:[^\s'"`]|(?<=\w)['"`](?=\w)))+""")
_ENDS = re.compile(r"""['"`]|[ \t]{0,4}(?:\[[^\n]{0,60}\])?[ \t]{0,4}=[ \t]{0,4}[bBrRuU]?['"]""")
# In a list such as `Server=x;Pwd=two words;` a value ends at the semicolon; other texts have few semicolons.
_LISTED = re.compile(r"[^;=\n'\"]{1,200}={0,2}(?=;)")
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|digest|negotiate|sharedaccesssignature|sharedkey)[ \t]{1,8}(?=\S)")
# The beginning of a value that is not a word, and characters that no word contains.
_NO_WORD = re.compile(r"""[&!<|>'"`\n]|%2[27]|[bBrRuUfFnNxX]{1,2}['"]|new[ \t]""")
_NESTED = re.compile(r"[\\(\[{]")
_ESCAPED = re.compile(r"\\.")
_REST = re.compile(r"\s*(?:\*{3}\s*)?")
_CODED_QUOTE = re.compile(r"&(?:quot|#3[49]);|\\{1,9}(?:u002[27]|x2[27])|%2[27]")
_ANY = re.compile(r"\S")
_CLOSING = ")]}.,;:"
_PLACEHOLDER = re.compile(r"(?:\*{3}|\?|\$\{[\w.:\-]{1,200}\}|\$\{\*{3}\}|(?i:true|false|none|null))?")
_PLACEHOLDER_ALONE = re.compile(
    r"(?:\*{3}|\?|\$\{[\w.:\-]{1,200}\}|\$\{\*{3}\}|(?i:true|false|none|null))(?=[,;:.)\]}]{0,9}(?:\s|\Z))"
)
_OPENING = re.compile(r"(?:[bBrRuUfFnNxX]{0,2}&?)\\{0,127}['\"`]")
_TAG = re.compile(r"(?:<|&lt;)(?:[\w\-]{1,40}:)?$")
_IN_TAG = re.compile(r"(?:<|&lt;)(?:[\w\-]{1,40}:)?(?i:name|key|property|param)(?:>|&gt;)\s{0,40}$")
# The rest of an element or a tag that names a secret; the secret's value follows it.
_ELEMENT = re.compile(r"""["'][^<>/\n]{0,200}>""")
_END_OF_TAG = re.compile(r"[^<>&]{0,400}(?:>|&gt;)")
_NEAR = 200
_NAME_FIELDS = frozenset(
    "name key k property propertyname param parameter field header variable option attribute".split()
)
_VALUE_FIELDS = frozenset("value val v content data".split())
_VALUE_FIELD = re.compile(r"(?<![\w.\-$])(?i:value|val|v|content|data)(?![\w.\-$])")
_NAMED = re.compile(
    r"""\\{0,127}["'`]?[ \t]{0,8}(?:=>|->|[:=])[ \t]{0,8}\\{0,127}["'`]?(?P<name>[\w.\-]{1,200})(?![\w.\-])"""
)
_FAR = 400
_FARTHEST = 2_500
_BEFORE = re.compile(
    r"(?P<operator><=>|={1,3}|<>|!=|\.(?:equals\w{0,20}|eq|contentEquals|compareTo|startswith|endswith)\("
    r"|[ \t](?:is|eq|like)(?=[ \t]))[ \t]{0,4}(?:[\w.]{1,60}[(\[]['\"]?)?[\w.]{0,60}$"
)
_CALL_IN_CALL = re.compile(r"\w\(\w{1,30}\($")
_LOGIN_OF_NETRC = re.compile(r"\blogin[ \t]{1,4}\S{1,80}\s{1,4}$|\b(?:setenv|ENV)[ \t]{1,4}$")
_NEXT_LINE = re.compile(r"\r?\n(?P<indent>[ \t]{0,200})(?P<item>-[ \t])?(?=[^\s])(?!at |File |\.\.\. |\^|[+:|]-)")
_END_OF_MESSAGE = re.compile(
    r"\n(?=[ \t|]{0,40}(?:at [\w$.<>/@+\-]{1,300}\(|File \"|\.\.\. \d{1,9} (?:more|common))|Caused by: |Suppressed: "
    r"|Traceback \(most recent|JVM stacktrace:|During handling of the above|The above exception was)"
)
_LINE_UP_TO_NAME = re.compile(r"[ \t]{0,100}(?:-[ \t]{1,4})?[\"']?$")
_BELOW = re.compile(r"\r?\n(?=[^\s])(?![\w.\-]{1,60}[ \t]{0,4}[=:])")
_TWO_WORDS = frozenset("key keys id code phrase word string".split())
_OWNER = re.compile(
    r"(?i)(?<![\w.\-])(?:access|account|aes|api|app|application|auth|client|consumer|decryption|encryption|kms|license"
    r"|master|pass|private|secret|session|shared|signing|ssh|subscription) $"
)


def is_placeholder(value: str) -> bool:
    """Return whether a whole value is only a placeholder (`***`, `?`, `${NAME}`) or has no content (true, null)."""
    return _PLACEHOLDER.fullmatch(value) is not None


def named_values(text: str) -> list[Span]:
    """Return the values of secrets and logins in a text, in order of their starts; they may overlap."""
    return _NamedValues(text).spans() if _STEM.search(text) is not None else []


class _NamedValues:
    """One pass over the names of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: list[Span] = []
        # Where the values of the first and the last field called `value` begin: the field with the name may follow.
        self._value_fields = (0, -_FARTHEST - 1)
        # The ranges in which everything is hidden, because of a secret and because of a login.
        self._hidden = self._hidden_of_login = range(0)
        # Where the message that was last looked at begins and ends.
        self._message = (0, -1)

    def spans(self) -> list[Span]:
        at = 0
        while (found := _NAME.search(self.text, at)) is not None:
            at = max(self._read(found.start(), found.end()), found.end())
        return sorted(self._found, key=lambda span: span[1:])

    def _read(self, start: int, end: int) -> int:
        """Read a name, and the value that it has; return where to continue."""
        name = self.text[start:end]
        low = name.lower()
        if low in _VALUE_FIELDS:
            operator = _ASSIGNED.match(self.text, end)
            if operator is not None and operator["operator"] in ("=", ":", "=>", "->"):
                self._value_fields = (self._value_fields[0] or operator.end(), operator.end())
            return end
        if low in _NAME_FIELDS and (named := _NAMED.match(self.text, end)) is not None and is_secret(named["name"]):
            self._field(named["name"], named.end())
            return named.end()
        # The value of a name near the end of the hidden range may be beyond it.
        if start in self._hidden and end + _NEAR <= self._hidden.stop:
            return end
        if low in _TWO_WORDS:
            name = self._with_word_before(start) + name
        secret = is_secret(name)
        if not secret and (start in self._hidden_of_login or not is_login(name.strip("-.$"))):
            return end
        opening = self._opening(start)
        if secret:
            self._reversed(name, opening, start)
            before = self.text[max(0, opening - 60) : opening]
            if _IN_TAG.search(before) is not None:
                self._field(name, end)
                return end
            if _TAG.search(before) is not None and (tag := _END_OF_TAG.match(self.text, end)) is not None:
                self._hide_all(name, tag.end() if "=" not in tag.group() else end, tag.end())
                return end
        operator = _ASSIGNED.match(self.text, end)
        value = self._start_of_value(name, opening, operator, secret=secret) if operator is not None else None
        return end if operator is None or value is None else self._value(name, start, operator, value, secret=secret)

    def _value(self, name: str, begins: int, operator: re.Match[str], start: int, *, secret: bool) -> int:
        """Hide the value that starts at an index; return where to continue."""
        name, assigned = name.strip("-.$"), operator["operator"] or operator["below"] or ""
        plain = None if name.lower().endswith(("authorization", "cookie")) else self._plain(start, assigned)
        if plain is not None:
            shown = self.text[slice(*plain)]
            # A URL may continue after its first word.
            whole = url_at(self.text, plain[0]) or shown
            if not is_harmless_value(name, whole) and not is_placeholder(shown):
                self._found.append((name, *plain))
            return max(start, plain[1])
        end = self._end(begins, start)
        # Without an assignment, hide what is between name and value too: no value may be found in the redacted text.
        start = start if assigned else operator.end("close")
        if end > start and not is_placeholder(self.text[start:end].rstrip(_CLOSING).strip()):
            self._hide(name, start, end, secret=secret)
        return start

    def _hide(self, name: str, start: int, end: int, *, secret: bool = True) -> None:
        if start in self._hidden and end <= self._hidden.stop:
            return
        self._found.append((name, start, end))
        if secret:
            self._hidden = max(self._hidden, range(start, end), key=lambda hidden: hidden.stop)
        else:
            self._hidden_of_login = range(start, end)

    def _plain(self, start: int, operator: str) -> tuple[int, int] | None:
        """Return where a value of one word or in plain quotes begins and ends; None for any other value."""
        quoted = _QUOTED.match(self.text, start)
        if quoted is not None:
            return None if _CONTINUES.match(self.text, quoted.end()) is not None else quoted.span("value")
        placeholder = _PLACEHOLDER_ALONE.match(self.text, start)
        if placeholder is not None:
            return placeholder.span()
        if _NO_WORD.match(self.text, start) is not None:
            return None
        scheme = _SCHEME.match(self.text, start)
        found = _LISTED.match(self.text, start) if operator == "=" else None
        if found is None or is_placeholder(found.group()):
            found = _BARE.match(self.text, scheme.end() if scheme is not None else start)
        if found is None or _NESTED.search(found.group()) or _ENDS.match(self.text, found.end()) is not None:
            return None
        return start, start + len(self.text[start : found.end()].rstrip(_CLOSING))

    def _end(self, name: int, start: int) -> int:
        """Return the end of a value: the end of its line, or of the last line that continues it."""
        text = self.text
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end].strip()
        if line and (missing := _missing(line)) is not None:
            closing = missing.search(text, end, end + _FARTHEST)
            last = text.find("\n", closing.end()) if closing is not None else end
            return max(self._end_of_message(end), len(text) if last < 0 else last)
        first = max(0, name - 110)
        up_to_name = text[text.rfind("\n", first, name) + 1 or first : name]
        is_item = _LINE_UP_TO_NAME.fullmatch(up_to_name) is not None
        if not line and not is_item:
            return start
        indent = len(up_to_name) - len(up_to_name.lstrip(" \t-"))
        while True:
            more = _NEXT_LINE.match(text, end)
            if more is None or len(more["indent"]) < indent + (more["item"] is None):
                return end
            end = text.find("\n", more.end())
            end = len(text) if end < 0 else end

    def _end_of_message(self, start: int) -> int:
        """Return the end of the message around an index: it is before the next line of a stack trace."""
        first, end = self._message
        if not first <= start <= end:
            found = _END_OF_MESSAGE.search(self.text, start)
            end = len(self.text) if found is None else found.start()
            self._message = (start, end)
        return end

    def _hide_all(self, name: str, start: int, beyond: int) -> None:
        """Hide all from an index to the end of the message around `beyond`: the end of a field is not marked."""
        end = self._end_of_message(max(start, beyond))
        if _REST.fullmatch(self.text, start, end) is None:
            self._hide(name, start, end)

    def _field(self, name: str, end: int) -> None:
        """Hide the message around a field that names a secret, if there is a field or an element with its value."""
        first, last = self._value_fields
        if end - last <= _FARTHEST:
            self._hide_all(name, max(first, end - _FARTHEST), end)
            return
        after = (_ELEMENT.match(self.text, end), _VALUE_FIELD.search(self.text, end, end + _NEAR))
        begin = min((found.end() for found in after if found is not None), default=None)
        if begin is not None:
            self._hide_all(name, begin, begin)

    def _with_word_before(self, start: int) -> str:
        """Return the word before a name, if one blank is between them: `api key`, `session id`."""
        found = _OWNER.search(self.text[max(0, start - 40) : start])
        return found.group() if found is not None else ""

    def _opening(self, start: int) -> int:
        """Return where a name begins, including its quotes, their escapes and their prefix."""
        at = start
        while at > 0 and start - at < 128 and self.text[at - 1] in "\"'`\\":
            at -= 1
        prefixed = at < start and self.text[at - 1 : at] in ("b", "u", "r") and not self.text[at - 2 : at - 1].isalnum()
        return at - 1 if prefixed and at > 0 else at

    def _start_of_value(self, name: str, opening: int, found: re.Match[str], *, secret: bool) -> int | None:
        """Return where the value of a name begins after a separator; None if it has none."""
        operator = found["operator"] or found["below"]
        if operator == ",":
            return found.end() if self._is_pair(name, opening, found) else None
        if operator == "|" and (self.text[max(0, opening - 8) : opening].rstrip(" ")[-2:] not in ("|", "\n|")):
            return None  # not a row of a printed table that begins with the name
        if operator is not None:
            below = _BELOW.match(self.text, found.end()) if operator == "=" else None
            return found.end() if below is None else below.end()
        if found["quoted"] is not None:
            return found.end()
        if found["word"] is not None or found["call"] is not None:
            return found.end() if secret else None
        if found["built"] is not None:
            is_class = name[:1].isupper() and "." not in name and self.text[opening - 1 : opening] != "."
            return found.end() if secret and is_class and not found["close"] else None
        before = self.text[max(0, opening - 100) : opening]
        is_option = name.startswith("--") or (secret and (name[0] == "-" or _LOGIN_OF_NETRC.search(before) is not None))
        follows_option = (
            self.text.startswith("-", found.end()) and self.text[found.end() + 1 : found.end() + 3].strip("-").isalpha()
        )
        return found.end() if is_option and not follows_option and not found["close"] else None

    def _is_pair(self, name: str, opening: int, found: re.Match[str]) -> bool:
        """Return whether a comma is between a name and its value: in a tuple, a list of pairs, or arguments."""
        before = self.text[max(0, opening - 80) : opening].rstrip()
        if any(bracket in found["close"] for bracket in ")]}"):
            return found["close"] == ")" and _CALL_IN_CALL.search(before) is not None
        if before.endswith("(") or name.startswith("-"):
            return True
        outside = before[:-1].rstrip()
        quoted = _OPENING.match(self.text, found.end())
        return before.endswith("[") and outside.endswith(("[", ",", "(")) and quoted is not None

    def _reversed(self, name: str, opening: int, start: int) -> None:
        """Hide the value that a name is compared with, if it is in quotes before the name: `'x' = password`."""
        first = max(0, start - 150)
        before = _BEFORE.search(self.text[first:start]) or _BEFORE.search(self.text[first:opening])
        if before is None:
            return
        close = first + len(self.text[first : first + before.start()].rstrip(" \t"))
        if self.text[close - 1 : close] in ("'", '"'):
            begin = max(self.text.rfind("\n", max(0, close - _FAR), close) + 1, close - _FAR, 0)
            self._found.append((name, begin, close))


def _missing(line: str) -> re.Pattern[str] | None:
    """Return a pattern of what closes the open quotes and brackets of a line; None if the line is complete."""
    bare = _ESCAPED.sub("", line)
    open_ = [quote for quote in "'\"`" if line.count(quote) % 2 or bare.count(quote) % 2]
    open_ += [re.escape(close) for start, close in ("()", "[]", "{}") if line.count(start) > line.count(close)]
    open_ += [quote for quote in ("'''", '"""') if line.count(quote) % 2]
    open_ += [_CODED_QUOTE.pattern] if len(_CODED_QUOTE.findall(line)) % 2 else []
    if open_:
        return re.compile("|".join(open_))
    return _ANY if line[0] == "\\" or line[-1] in "\\=:,+|>&-" else None


_TOKENS = "|".join(
    (
        r"(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)",  # AWS
        r"eyJ[\w\-]{8,}\.eyJ[\w\-]{8,}\.[\w\-]*",  # a JSON Web Token
        r"gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w\-]{16,}",  # GitHub, GitLab
        r"xox[a-z]-[\w\-]{10,}|xapp-[\w\-]{10,}",  # Slack
        r"ya29\.[\w\-]{10,}|AIza[\w\-]{30,}|GOCSPX-[\w\-]{20,}",  # Google
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|sk-(?=[A-Za-z_\-]{0,40}\d)[\w\-]{20,}",  # Stripe, OpenAI and others
        r"dapi[0-9a-f]{32}(?:-\d)?|hf_[A-Za-z0-9]{20,}",  # Databricks, Hugging Face
        r"hv[sbr]\.[\w\-]{20,}|npm_[A-Za-z0-9]{30,}|SG\.[\w\-]{16,}\.[\w\-]{16,}",  # Vault, npm, SendGrid
        r"(?:bot)?\d{8,10}:AA[\w\-]{30,}",  # Telegram
    )
)
_FORMS = re.compile(rf"(?<![\w\-.])(?:{_TOKENS})|(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/\-]{{16,}}=*")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)",
    re.DOTALL,
)
# The values may hold one level of brackets themselves.
_MAP = re.compile(
    r"\{([^{}\n]{1,4000})\}|\[([^\[\]\n]{1,4000})\]"
    r"|(?<!\w)\w{0,60}Map\d?\(((?:[^()\n]|\([^()\n]{0,200}\)){1,4000})\)"
)
# Derby names the schema of a user after the user.
_SCHEMA = re.compile(r"(?<=Schema ')[^'\n]{1,200}(?=' does not exist)")
_COMMA = re.compile(r", ?(?=[\w.\-]{1,200}(?:=| -> ))")
_ENTRY = re.compile(r"(?P<name>[\w.\-]{1,200})(?P<operator>=| -> )(?P<value>.*)", re.DOTALL)
_PLAIN = re.compile(r"[\d.:\-]{1,10}(?:[ T][\d.:]{1,15})?|(?i:true|false|null|none)")
_WHOLE_WORD = 8
"""A known value that is shorter than this, or a number, is hidden only where it is a whole word."""
# Database and security clients, whose -p, -P, -w, -W or -a is a password.
_CLIENT = re.compile(
    r"(?<![\w.\-])(?:mysql\w*|mariadb[\w\-]*|mongo\w*|sshpass|sqlcmd|bcp|isql|tsql|osql|beeline|sqoop|redis-cli|ldap\w+"
    r"|docker|snowsql|cqlsh|clickhouse(?:-client)?|vsql|nzsql|impala-shell|htpasswd|smbclient|7z|zip|unzip"
    r"|openssl|keytool|curl)(?![\w=])"
)
_USER = re.compile(r"(?<!\S)-[uU](?:[ \t=]{0,4})(?=\S)")
# With `-u name`, `-p` is a password whatever the command is.
_SHORT = re.compile(r"(?<![^\s'\"\[,])-[pPwWa](?![ \t]{0,4}[/\\])(?:[ \t]{1,4}|['\"],[ \t]{0,4}|)['\"]?(?=[^\s\-,'\"])")
_LOGIN = re.compile(
    r"(?<![^\s'\"\[,])-[uU](?:[ \t]{1,4}|['\"],[ \t]{0,4}|)(?P<quote>['\"]?)(?P<user>[^\s:'\"]{0,100}:)(?=[^\s/'\"])"
)
_VALUE = re.compile(r"[^\s'\"]+")
_NUMBER = re.compile(r"\d{1,5}(?:[:/]\S*)?")
# If a value has no clear end, each part counts.
_PARTS = re.compile(r"[\s'\"`,;=&(){}\[\]<>|\\]+")
_SHORTEST_PART = 6


def redact_text(text: str, known: Sequence[str] = ()) -> str:
    """
    Redact a text: replace the credentials in it by `***`.

    Args:
        text: any text.
        known: values to replace wherever they occur, longest first.
    """
    text = without_values(text, known)
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = without_credentials(_MAP.sub(_map, text))
    text = _without_spans(text, named_values(text))
    text = _without_spans(text, passwords_of_clients(text))
    return _SCHEMA.sub(REDACTED, _FORMS.sub(REDACTED, text))


def without_values(text: str, values: Sequence[str]) -> str:
    """
    Replace values wherever they occur in a text, short ones and numbers only where they are whole words.

    Args:
        text: any text.
        values: the values, longest first.
    """
    first = bisect.bisect_left(values, -len(text), key=lambda value: -len(value)) if values else 0
    for value in values[first:]:
        if value not in text:
            continue
        if len(value) >= _WHOLE_WORD and not value.isdigit():
            text = text.replace(value, REDACTED)
        else:
            before, after = (r"\b" if edge.isalnum() else "" for edge in (value[0], value[-1]))
            text = re.sub(f"{before}{re.escape(value)}{after}", REDACTED, text)
    return text


def _map(found: re.Match[str]) -> str:
    """Redact a map of options as the JVM prints it: keep only the values of options that may be shown."""
    inner = found.group(1) or found.group(2) or found.group(3)
    entries = _COMMA.split(inner)
    parsed = [_ENTRY.fullmatch(entry) for entry in entries]
    if any(entry is None for entry in parsed):
        return found.group()
    shown = ", ".join(
        entry.group() if _is_shown(entry["name"], entry["value"]) else f"{entry['name']}{entry['operator']}{REDACTED}"
        for entry in parsed
        if entry is not None
    )
    return found.group().replace(inner, shown)


def _is_shown(name: str, value: str) -> bool:
    return (
        is_shown_option(name)
        or is_shown_property(name)
        or (_PLAIN.fullmatch(value) is not None and not is_secret(name))
    )


def secrets_in(text: str) -> Iterator[str]:
    """
    Yield the secrets in a text: the values after their names, and the passwords in URLs.

    Args:
        text: the value of a property or variable, or a command line.
    """
    for name, start, end in named_values(text):
        if not is_login(name) or is_secret(name):
            yield text[start:end]
            yield from (part for part in _PARTS.split(text[start:end]) if _SHORTEST_PART <= len(part) < end - start)
    yield from (text[start:end] for _, start, end in passwords_of_clients(text))
    for found in PASSWORD_IN_TEXT.finditer(text):
        yield from {found.group(1), unquote(found.group(1))}


def passwords_of_clients(text: str) -> Iterator[Span]:
    """
    Yield where passwords begin and end in commands such as `curl -u user:password` and `mysql -ppassword`.

    Args:
        text: any text; each line is searched by itself.
    """
    if " -" not in text and "'-" not in text and '"-' not in text:
        return
    at = 0
    for line in text.splitlines(keepends=True):
        yield from _in_line(line, at)
        at += len(line)


def _in_line(line: str, at: int) -> Iterator[Span]:
    done = 0
    is_client = _CLIENT.search(line) is not None
    options = [*_LOGIN.finditer(line)]
    if is_client or _USER.search(line) is not None:
        options += _SHORT.finditer(line)
    for found in sorted(options, key=lambda each: each.start()):
        value = _VALUE.match(line, found.end())
        if value is None or found.start() < done or is_placeholder(value.group()):
            continue
        if "user" not in found.groupdict() and _NUMBER.fullmatch(value.group()):
            continue  # a port
        yield found.group().strip(), at + value.start(), at + value.end()
        done = value.end()


def _without_spans(text: str, spans: Iterable[Span]) -> str:
    """Replace spans of a text, which must be in the order of their starts."""
    parts: list[str] = []
    done = 0
    for _, start, end in spans:
        if end > done:
            parts += [text[done:start], REDACTED] if start >= done else []
            done = end
    return "".join([*parts, text[done:]]) if parts else text
