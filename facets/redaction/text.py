"""
Texts in which anything may stand, without the credentials in them: values in SQL strings, messages, comments.

Four things are hidden: what a URL holds besides its address, what stands behind a name that says it is a secret or a
login (`password=...`, `token: ...`, `--secret ...`), what has the form of a private key or of a well-known service's
token, and what is known to be secret because the configuration says so.
Every step is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from openlineage_pyspark.facets.redaction.names import is_login, is_secret, is_shown_option
from openlineage_pyspark.facets.urls import REDACTED, without_credentials

_KEY = re.compile(
    r"""(?<![\w.\-])(?P<name>[\w.\-]{1,200})
        (?:[\\"'`\])]{0,3}[ \t]{0,8}(?P<sign>=>|->|[=:,])[ \t]{0,8}
        |[\\"'`]{0,2}[ \t]{1,8}(?=[\\]?['"])|[ \t]{1,8}(?=\S))""",
    re.VERBOSE,
)
# A value ends at white space and quotes, and before a further `name=`.
_PLAIN_VALUE = re.compile(r"""(?:(?![,;&][ \t]{0,8}[\w.\-]{1,60}[=:])[^\s'"`])+""")
# In a list such as `Server=x;Pwd=two words;` it ends at the semicolon, and what is no list has few.
_LISTED_VALUE = re.compile(r"[^;=\n'\"]{1,200}={0,2}(?=;)")
_REST_OF_LINE = re.compile(r"""[^'"\n]+""")
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|digest|negotiate|sharedaccesssignature|sharedkey)[ \t]+(?=\S)")
_QUOTE = re.compile(r"\\?['\"]")
_PASSWORD = re.compile(r"//[^/@:\s]{0,200}:([^@\s]{1,400})@")
_CLOSING = ")]}.,;:"
_SHOWN_VALUE = re.compile(r"\*{3}|\?|<|\$\{|(?i:true|false|none|null)(?!\w)")
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
    )
)
_FORMS = re.compile(rf"(?<![\w\-.])(?:{_TOKENS})|(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/\-]{{16,}}=*")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)",
    re.DOTALL,
)
_MAP = re.compile(r"\{([^{}\n]{1,4000})\}|\[([^\[\]\n]{1,4000})\]|\bMap\(([^()\n]{1,4000})\)")
# Derby calls the schema of a user after her.
_SCHEMA = re.compile(r"(?<=Schema ')[^'\n]{1,200}(?=' does not exist)")
_COMMA = re.compile(r", ?(?=[\w.\-]{1,200}(?:=| -> ))")
_ENTRY = re.compile(r"(?P<name>[\w.\-]{1,200})(?P<sign>=| -> )(?P<value>.*)", re.DOTALL)
_PLAIN = re.compile(r"[\d.:\-]{1,10}(?:[ T][\d.:]{1,15})?|(?i:true|false|null|none)")


def phrase(text: str, known: Iterable[str] = ()) -> str:
    """
    A text without the credentials in it; `***` stands where they stood.

    Args:
        text: of any kind.
        known: what is secret wherever it stands.
    """
    for secret in known:
        if secret in text:
            text = text.replace(secret, REDACTED)
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = without_credentials(_MAP.sub(_map, text))
    return _SCHEMA.sub(REDACTED, _FORMS.sub(REDACTED, _without_values(text)))


def _map(found: re.Match[str]) -> str:
    """A map of options as the JVM prints it: only the values of options that may be shown."""
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
    return is_shown_option(name) or (_PLAIN.fullmatch(value) is not None and not is_secret(name))


def secrets_in(text: str) -> Iterator[str]:
    """
    Give the secrets that a text holds: what stands behind their names, and the passwords of URLs.

    Args:
        text: the value of a property or variable, or a command line.
    """
    yield from (text[start:end] for name, start, end in _values(text) if not is_login(name))
    for found in _PASSWORD.finditer(text):
        yield from {found.group(1), unquote(found.group(1))}


def _without_values(text: str) -> str:
    """A text without what stands behind the names of secrets and logins."""
    parts: list[str] = []
    done = 0
    for _, start, end in _values(text):
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def _values(text: str) -> Iterator[tuple[str, int, int]]:
    """The names of secrets and logins, with the place of what stands behind each."""
    at = 0
    while (found := _KEY.search(text, at)) is not None:
        if not _says(found, text):
            # What follows may be a name itself.
            at = max(found.end("name"), found.end() - 1) if found["sign"] is None else found.end()
            continue
        start, end = _value(text, found.end(), found["name"])
        if end > start and not _SHOWN_VALUE.match(text, start):
            yield found["name"].strip("-."), start, end
        at = max(end, found.end())


def _says(found: re.Match[str], text: str) -> bool:
    """Whether a name and what stands behind it are a secret: `name=`, `name: `, `name 'value'`, `--name value`."""
    name = found["name"]
    option = name.startswith("--")
    if found["sign"] is None and not option and text[found.end() : found.end() + 1] not in ("'", '"', "\\"):
        return False
    if found["sign"] == "," and text[found.start() - 1 : found.start()] != "(":
        return False  # a pair stands in brackets
    name = name.strip("-.")
    return is_secret(name) or is_login(name)


def _value(text: str, start: int, name: str) -> tuple[int, int]:
    """From where to where the value stands that begins at a place."""
    opening = _QUOTE.match(text, start)
    if opening is not None:
        quote = opening.group()
        close = text.find(quote, opening.end())
        line = text.find("\n", opening.end())
        end = len(text) if line < 0 else line
        return opening.end(), close if 0 <= close <= end else end
    if name.lower().endswith(("authorization", "cookie")):
        found = _REST_OF_LINE.match(text, start)
    else:
        scheme = _SCHEME.match(text, start)
        found = _LISTED_VALUE.match(text, start) if text[start - 1] == "=" else None
        found = found or _PLAIN_VALUE.match(text, scheme.end() if scheme is not None else start)
    if found is None:
        return start, start
    return start, start + len(text[start : found.end()].rstrip(_CLOSING))
