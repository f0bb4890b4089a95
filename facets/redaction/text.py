"""
Redact free text, which may hold anything: values of SQL strings, error messages, comments.

Four things are removed: everything in a URL besides its address; the value that a name which says it is a secret or a
login is given or compared with (`password=...`, `token: ...`, `--secret ...`, `'x' = password`); private keys, and
tokens in the form of a well-known service; and the values that are secret according to the configuration.

What the value is depends on how it begins, in whatever language it is written: `values` reads it. The passwords that
command lines give by options of one letter, which say nothing by their names, are read here. Every step is linear
in the length of the text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from openlineage_pyspark.facets.redaction.names import is_login, is_secret, is_shown_option, is_shown_property
from openlineage_pyspark.facets.redaction.values import Span, is_placeholder, named_values
from openlineage_pyspark.facets.urls import PASSWORD_IN_TEXT, REDACTED, without_credentials

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
_ENTRY = re.compile(r"(?P<name>[\w.\-]{1,200})(?P<sign>=| -> )(?P<value>.*)", re.DOTALL)
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
# Of a value that has no plain end, each part counts.
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
        entry.group() if _is_shown(entry["name"], entry["value"]) else f"{entry['name']}{entry['sign']}{REDACTED}"
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
    Yield where the passwords in `curl -u user:password`, `mysql -ppassword` and the like begin and end.

    Args:
        text: any text; each line is looked at once.
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
    """Replace some spans of a text, which are in the order of their starts."""
    parts: list[str] = []
    done = 0
    for _, start, end in spans:
        if end > done:
            parts += [text[done:start], REDACTED] if start >= done else []
            done = end
    return "".join([*parts, text[done:]]) if parts else text
