"""Find the passwords that command lines give by options of one letter, which say nothing by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openlineage_pyspark.facets.redaction.values import Span, is_placeholder

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
