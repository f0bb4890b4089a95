"""
Read the files of Dataform (`.sqlx`): one query each, which makes the table or view that is named after the file.

Around the query are blocks of JavaScript and of further SQL, and within it expressions in JavaScript. None of this code
is run; only `ref`, `self` and `when(incremental(), ...)` are resolved, as in the first run of the project.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.predict.project.code_beside import code_beside
from openlineage_pyspark.workbench.predict.project.order import inputs_first
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from openlineage_pyspark.workbench.predict.project_code import ProjectCode
    from openlineage_pyspark.workbench.predict.scripts import Script

ENDING = ".sqlx"
"""The ending of the names of such files."""
DATAFORM_CODE = ("*.js", "*.json", "*.yaml")
"""The patterns of the other files that decide about its tables."""
_ROOTS = ("dataform.json", "workflow_settings.yaml")
_BLOCK = re.compile(r"^[ \t]*(config|js|pre_operations|post_operations|input\s+\"[^\"]*\")\s*\{", re.MULTILINE)
_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|//[^\n]*|/\*.*?\*/|[{}]|.""", re.DOTALL
)
_PROPERTY = re.compile(r"""\b(type|name|hasOutput|disabled)\s*:\s*(?:["'`]([^"'`]*)["'`]|(true)\b)""")
_REF = re.compile(r"(?:ctx\.)?(?:ref|resolve)\s*\((.*)\)", re.DOTALL)
_OF_REF = re.compile(r"""["'`]([^"'`]+)["'`]""")
_KEYED = re.compile(r"""\b(schema|name)\s*:\s*["'`]([^"'`]+)["'`]""")
_SELF = re.compile(r"(?:ctx\.)?self\s*\(\s*\)")
_WHEN = re.compile(r"(?:ctx\.)?when\s*\(\s*(!?)\s*(?:ctx\.)?incremental\s*\(\s*\)\s*,(.*)\)", re.DOTALL)
_TEXT = re.compile(r"`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_BORDER = re.compile(r"^---[ \t]*$", re.MULTILINE)
# Others make no table, or one that is elsewhere.
_TABLES = frozenset({"incremental", "inline", "table", "view"})
_OPERATIONS = "operations"


def scripts_of_dataform(
    scripts: Iterable[Script], files_of: Callable[[Path], Iterable[Script]] | None = None
) -> list[Script]:
    """
    Return scripts, in which the files of Dataform create their tables, each after those that it reads.

    Assertions, tests and declarations are left out.

    Args:
        scripts: the scripts.
        files_of: returns the files of a project that match `DATAFORM_CODE`, in the state of the scripts; None if nobody
            asks.
    """
    code_of = code_beside(_ROOTS, files_of)
    others: list[Script] = []
    files: list[_File] = []
    for script in scripts:
        if script.name.lower().endswith(ENDING) and not script.is_ddl:
            files.append(_File(script, code_of))
        else:
            others.append(script)
    kept = [each for each in files if each.type in _TABLES or each.type == _OPERATIONS]
    own = {each.name.lower(): each.script.name for each in kept if each.makes_table}
    found = {each.script.name: each.resolved(own) for each in kept}
    order = inputs_first({id_: reads for id_, (_, reads) in found.items()})
    return [*others, *(found[each][0] for each in order)]


class _File:
    """
    A file of Dataform.

    Args:
        script: the file.
        code_of: returns what decides about it, beside its query and the blocks around it.

    Attributes:
        type: its type, such as `table`.
        name: the name of its table.
        makes_table: whether its query makes this table.
    """

    def __init__(self, script: Script, code_of: Callable[[Script, str], ProjectCode | None]) -> None:
        text, given = script.text, dict[str, str]()
        blocks: list[str] = []
        found = _BLOCK.search(text)
        while found is not None:
            end = _end(text, found.end())
            if found[1] == "config":
                given |= {key: value or flag for key, value, flag in _PROPERTY.findall(text[found.end() : end])}
            blocks.append(text[found.start() : end])
            text = f"{text[: found.start()]}{blanked(text[found.start() : end])}{text[end:]}"
            found = _BLOCK.search(text, end)
        self.script = attrs.evolve(script, project=code_of(script, "\n".join(blocks)))
        self._text = text
        self.type = given.get("type", _OPERATIONS)
        self.name = given.get("name") or PurePath(script.name).stem
        self.makes_table = self.type in _TABLES and "disabled" not in given

    def resolved(self, own: Mapping[str, str]) -> tuple[Script, list[str]]:
        """
        Return the file as a script, and the names of the files whose tables it reads.

        Args:
            own: the names of the tables that files make, in lower case -> the names of these files.
        """
        reads: list[str] = []
        text = _BORDER.sub(";  ", "".join(self._parts(self._text, own, reads)))
        head = f"CREATE TABLE {in_backticks(self.name)} AS " if self.makes_table else ""
        return attrs.evolve(self.script, text=text, head=head), reads

    def _parts(self, text: str, own: Mapping[str, str], reads: list[str]) -> Iterator[str]:
        at = 0
        while (begin := text.find("${", at)) >= 0:
            end = _end(text, begin + 2)
            yield text[at:begin]
            value = self._value(text[begin + 2 : end - 1].strip(), own, reads)
            yield value.ljust(end - begin) if "\n" not in text[begin:end] else value + blanked(text[begin:end])
            at = end
        yield text[at:]

    def _value(self, code: str, own: Mapping[str, str], reads: list[str]) -> str:
        """Return the SQL that an expression makes; a variable without a value if that needs its code."""
        named, chosen = _REF.fullmatch(code), _WHEN.fullmatch(code)
        if named is not None:
            keyed = dict(_KEYED.findall(named[1]))
            parts = [keyed[key] for key in ("schema", "name") if key in keyed] or _OF_REF.findall(named[1])
            if parts:
                is_own = parts[-1].lower() in own
                reads += [own[parts[-1].lower()]] if is_own else []
                return ".".join(map(in_backticks, parts[-1:] if is_own else parts))
        if _SELF.fullmatch(code):
            return in_backticks(self.name)
        if chosen is not None:
            texts = [each[1:-1] for each in _TEXT.findall(chosen[2])]
            first_run = texts[:1] if chosen[1] else texts[1:2]
            return "".join(self._parts("".join(first_run), own, reads))
        return f"${{{re.sub('[^A-Za-z0-9_.]+', '_', code)}}}"


def _end(text: str, inside: int) -> int:
    """Return the position behind the brace that closes the one before a position."""
    depth = 1
    for found in _TOKEN.finditer(text, inside):
        depth += (found[0] == "{") - (found[0] == "}")
        if not depth:
            return found.end()
    return len(text)
