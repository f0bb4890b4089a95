"""
Remove the parts of failures that may quote values of rows.

Spark's own messages quote values (`The value '123-45-6789' of the type "STRING" cannot be cast`), and so do exceptions
of the user's functions and of libraries. An exception that was raised where rows are handled, in a task or while an
expression is evaluated, keeps its class and its frames. If it has one of Spark's conditions, it also keeps the
condition, its SQLSTATE and its text, in which only the parameters that are names keep their values. All other messages
are kept, except for the parts that repeat such an exception.

Messages also hold whole stack traces as text. In these, lines that can't be distinguished from a value are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import attrs
from openlineage_pyspark.facets.model.run import Failure, Raised
from openlineage_pyspark.facets.redaction.errors import FRAME, SOURCE, TRACEBACK_HEADINGS
from openlineage_pyspark.facets.urls import REDACTED

ROW_VALUES_KEY = "spark.openlineage.errors.rowValues"
WITHHELD = f"{REDACTED} (withheld: it may quote rows, {ROW_VALUES_KEY}=true sends it)"
_SHORT = 8
"""A message that is shorter than this is replaced only where it follows the class of an exception."""
_MARK = re.compile("\0\\d+\0")

# Parameters of conditions whose values are names or types: the ends of their own names, and whole names.
_NAME_ENDS = tuple(
    "Name Names Type Class Path Paths Column Columns Col Cols Config Location _name _type _version".split()
)
_NAMES = frozenset(
    "alternative class clazz cls col column columns config configKey database"
    " failFastMode fileToRead func function identifier mapKeyDedupPolicy method path suggestion table"
    " tableIdentifier tableIdentWithDB type".split()
)
# Conditions whose field names are part of the data, as in JSON.
_FIELDS_OF_DATA = frozenset(("CANNOT_PARSE_JSON_FIELD", "MALFORMED_RECORD_IN_PARSING"))
_OF_UDF = "FAILED_EXECUTE_UDF"
_LONGEST_NAME = 1000
# Beginnings of SQLSTATEs of conditions about values, wherever they are raised: cardinality, data, constraints, the
# user's own code.
_STATES_OF_DATA = ("21", "22", "23", "38", "39", "P0")
_PARAMETER = re.compile(r"<([A-Za-z0-9_-]{1,100})>")
_LEGACY = "_LEGACY_ERROR_"

_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]{2,100}(?:\.[A-Z0-9_]{1,100}){0,2}\]")
_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})\b")
_CONDITION_OR_STATE = re.compile(f"(?P<condition>{_CONDITION.pattern})|{_STATE.pattern}")
_PACKAGE = r"[A-Za-z_$][\w$]{0,200}\."
_JAVA = rf"(?:{_PACKAGE}){{1,20}}[A-Z_$][\w$]{{0,200}}(?=: |:?$)(?:: ?)?"
_JAVA_CLASS = re.compile(_JAVA)
_CAUSE = re.compile(rf"\s{{0,20}}(?:Caused by: |Suppressed: |: ){_JAVA}")
_PYTHON_CLASS = re.compile(rf"[\s|]{{0,50}}(?:{_PACKAGE}){{0,20}}[A-Za-z_]\w{{0,200}}(?=: |:?$)(?:: ?)?")
# Exceptions about values, which a text may repeat without their frames.
_OF_VALUES = re.compile(
    r"\bpyspark\.errors\.exceptions\.(?:captured|connect)\.(?!AnalysisException|ParseException)\w{1,100}: (?=\[)"
    r"|\borg\.apache\.spark\.Spark(?:NumberFormat|DateTime|Arithmetic|ArrayIndexOutOfBounds)Exception: "
)
_BETWEEN = re.compile(
    r"\s{0,50}\+?(?:-\+)?-{10,40} \d{1,4} -{10,40}|\s{0,50}\[Previous line repeated \d{1,9} more times?\]"
)
_JOINTS = ("During handling of the above exception", "The above exception was the direct cause")
_PROXY = "An exception was raised by the Python Proxy."
_TRACEBACK = "Traceback (most recent call last):"
_ABORTED = "Job aborted due to stage failure: "
_LOST_TASK = re.compile(
    rf"{_ABORTED}(?:Task \d+ in stage [\d.]+ failed \d+ times?, most recent failure: "
    r"Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \([^()]*\): )?"
)
_NO_TASK = re.compile(r"Job \d+ cancelled|Total size of serialized results|ExecutorLostFailure \(")
_ROW_FRAME = re.compile(
    r"\s*at (?:[\w.]*/)*org\.apache\.spark\.(?:executor\.Executor\$TaskRunner|scheduler\.\w*Task\.run"
    r"|api\.python\.BasePythonRunner|sql\.catalyst\.encoders\.ExpressionEncoder\$"
    r"|sql\.catalyst\.expressions\.[\w$.]*(?:[eE]val|GeneratedClass))"
)
_JOB_FRAME = re.compile(r"\s*at org\.apache\.spark\.scheduler\.DAGScheduler\.runJob")
_PYTHON_EXCEPTION = re.compile(r".*\bPythonException\b(?::|$)")
# Spark's own text around the exception of a task.
_HARMLESS = re.compile(
    r"\s*(?:Task failed while writing rows\.?|Job aborted\.|An error occurred while calling [\w:.$]{1,300}\."
    r"|(?:\[PYTHON_EXCEPTION\] )?An exception was thrown from the Python worker[.:]?"
    r"(?: Please see the stack trace below\.)?(?: Traceback \(most recent call last\):)?"
    r"|SQLSTATE: [0-9A-Z]{5}|Exception thrown in awaitResult: ?)\s*"
)
_ROW_TEXTS = (
    "Executor$TaskRunner", "Lost task ", "BasePythonRunner", "GeneratedClass", ".PythonException", "ExpressionEncoder$",
)  # fmt: skip
_EVALUATION = re.compile(r"at org\.apache\.spark\.sql\.catalyst\.expressions\.[\w$.]{0,300}[eE]val")


def is_of_rows(stack: str) -> bool:
    """Return whether a JVM stack trace, or one of its causes, shows that rows were being handled."""
    return any(text in stack for text in _ROW_TEXTS) or _EVALUATION.search(stack) is not None


def without_rows(failure: Failure, known: Mapping[str, str] | None = None) -> Failure:
    """
    Return a failure without the parts that may quote values of rows.

    Args:
        failure: as it was recorded.
        known: messages of earlier exceptions, and the text shown instead of each.
    """
    if failure.has_rows_removed:
        return failure
    shown = {**(known or {}), **shown_messages(failure, known)}
    message, trace = failure.message, failure.stack_trace
    if is_script(failure):
        message, trace = _header(failure.raised[-1], shown), _trace(failure, shown)
    elif failure.raised:
        first = failure.raised[0]
        message = shown[first.message] if first.message else first.class_name
        trace = _trace(failure, shown)
    elif trace is not None and trace.startswith(message):
        # A failure of a stream has only the trace.
        trace = _shown_text(trace, shown, headed=True)
        message = trace.split("\n", 1)[0]
    elif trace is not None or failure.language == "PYTHON":
        message = _shown_text(message, shown)
        trace = _shown_text(trace, shown, headed=True) if trace is not None else None
    return attrs.evolve(failure, message=message, stack_trace=trace, raised=(), has_rows_removed=True)


def shown_messages(failure: Failure, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the message of each exception of a failure, with the text shown instead."""
    shown: dict[str, str] = {}
    # Inner messages come first, because outer ones repeat them.
    order = failure.raised if is_script(failure) else failure.raised[::-1]
    for raised in order:
        if raised.message:
            shown[raised.message] = _shown_message(raised, {**(known or {}), **shown})
        shown = {**dict.fromkeys(_quoted_values(raised), REDACTED), **shown}
    return shown


def _quoted_values(raised: Raised) -> Iterator[str]:
    """Yield the values that a condition quotes, except plain words: other messages may repeat them."""
    if not (raised.of_rows and raised.template):
        return
    for name, value in raised.parameters:
        bare = value.strip("'\"` ")
        is_long = _SHORT <= len(bare) <= _LONGEST_NAME and "\n" not in bare
        is_name = _is_name(raised.condition or "", name, value) or _HARMLESS.fullmatch(bare) is not None
        if is_long and not is_name and not bare.replace("_", "").isalpha():
            yield bare


def is_script(failure: Failure) -> bool:
    """Return whether the user's script failed; then the exceptions are in the order of a Python traceback."""
    return failure.language == "PYTHON" and any(_TRACEBACK in raised.frames for raised in failure.raised)


def _trace(failure: Failure, shown: Mapping[str, str]) -> str | None:
    """Return the stack trace of exceptions, with the texts shown instead of their messages."""
    if is_script(failure):
        return "".join(f"{one.frames}{_header(one, shown)}\n" for one in failure.raised)
    python = [one for one in failure.raised if one.class_name.endswith(".PythonException")]
    if python:
        return shown.get(python[-1].message)
    if not any(one.frames for one in failure.raised):
        return None
    before = ("", *("Caused by: " for _ in failure.raised))
    return "".join(
        f"{cause}{_header(one, shown)}\n{one.frames}" for cause, one in zip(before, failure.raised, strict=False)
    )


def _header(raised: Raised, shown: Mapping[str, str]) -> str:
    return f"{raised.class_name}: {shown[raised.message]}" if raised.message else raised.class_name


def _shown_message(raised: Raised, shown: Mapping[str, str]) -> str:
    of_data = raised.of_rows or (raised.state or "").startswith(_STATES_OF_DATA)
    if raised.template and of_data:
        return _rendered(raised, shown)
    if raised.parameters and not raised.template:
        return _without_parameters(raised)
    return _shown_text(raised.message, shown, of_rows=raised.of_rows)


def _rendered(raised: Raised, shown: Mapping[str, str]) -> str:
    """Return the text of a condition, in which only the parameters that are names have their values."""
    values = dict(raised.parameters)

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        given = values.get(name, REDACTED)
        if _is_name(raised.condition or "", name, given):
            return given
        if given in shown:
            return shown[given]
        traceback = given.find(_TRACEBACK)
        if traceback >= 0:
            return _shown_text(given[traceback:], shown, of_rows=True)
        return given if _HARMLESS.fullmatch(given) else REDACTED

    text = _PARAMETER.sub(value, raised.template)
    condition = raised.condition or ""
    before = "" if not condition or condition.startswith(_LEGACY) else f"[{condition}] "
    return f"{before}{text}" + (f" SQLSTATE: {raised.state}" if raised.state else "")


def _is_name(condition: str, parameter: str, value: str) -> bool:
    if len(value) > _LONGEST_NAME or "\n" in value:
        return False
    if condition.startswith(_OF_UDF) and parameter in ("signature", "result"):
        return True
    if parameter.startswith("field") and condition.split(".", maxsplit=1)[0] in _FIELDS_OF_DATA:
        return False
    return parameter in _NAMES or (parameter.endswith(_NAME_ENDS) and parameter != "obj_name")


def _without_parameters(raised: Raised) -> str:
    """Return a message without the values of its condition's parameters, except names; remove the longest first."""
    text = raised.message
    hidden = [value for name, value in raised.parameters if not _is_name(raised.condition or "", name, value)]
    for value in sorted(filter(None, hidden), key=len, reverse=True):
        if len(value) >= _SHORT:
            text = text.replace(value, REDACTED)
        else:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", REDACTED, text)
    return text


def _shown_text(text: str, shown: Mapping[str, str], *, of_rows: bool = False, headed: bool = False) -> str:
    """
    Return a message or a stack trace without the parts that may quote values of rows.

    Args:
        text: the message, or the trace.
        shown: known messages, and the text shown instead of each.
        of_rows: whether any part of it may quote values.
        headed: whether it begins with the class of an exception.
    """
    places: list[str] = []
    marked = _marked(text.replace("\0", ""), shown, places)
    lines = _without_texts_of_conditions(marked, shown).split("\n")
    made = "\n".join(_shown_lines(lines, of_rows=of_rows, headed=headed))
    return _MARK.sub(lambda found: places[int(found.group()[1:-1])], made)


def _marked(text: str, shown: Mapping[str, str], places: list[str]) -> str:
    """Replace the known messages by marks, longest first; append the replacement of each mark to `places`."""
    for known in sorted(shown, key=len, reverse=True):
        # The message of a Python exception does not end in a line break.
        message = known.rstrip("\n")
        if not message or message not in text:
            continue
        mark = f"\0{len(places)}\0"
        places.append(shown[known])
        if len(message) >= _SHORT:
            text = text.replace(message, mark)
        else:
            text = re.sub(rf"(?<=: ){re.escape(message)}$", mark, text, flags=re.MULTILINE)
    return text


def _without_texts_of_conditions(text: str, shown: Mapping[str, str]) -> str:
    """Remove the texts of conditions about values: up to the SQLSTATE or, if it is missing, all that follows."""
    parts: list[str] = []
    done = 0
    begin: re.Match[str] | None = None
    for found in _CONDITION_OR_STATE.finditer(text):
        if found["condition"] is not None:
            begin = begin or found
            continue
        if begin is not None and found.group().removeprefix("SQLSTATE: ").startswith(_STATES_OF_DATA):
            marks = " ".join(_MARK.findall(text[begin.end() : found.start()]))
            parts += [text[done : begin.end()], f" {REDACTED} {marks} " if marks else f" {REDACTED} "]
            done = found.start()
        begin = None
    return "".join([*parts, _without_beginnings(text[done:], shown)])


def _without_beginnings(text: str, shown: Mapping[str, str]) -> str:
    """Remove all that follows the condition of a known message, if a text has only the message's beginning."""
    for message, instead in shown.items():
        condition = _CONDITION.match(message) if message != instead else None
        begin = text.find(message[: condition.end() + _SHORT]) if condition is not None else -1
        if condition is not None and begin >= 0:
            text = f"{text[: begin + condition.end()]} {WITHHELD}"
    return text


def _shown_lines(lines: list[str], *, of_rows: bool, headed: bool) -> Iterator[str]:
    for block in _blocks(lines):
        of_rows = of_rows or _is_block_of_rows(block, headed=headed)
        if of_rows:
            yield from _types_and_frames(block, headed=headed)
        else:
            at = next((at for at in range(len(block)) if _begin_of_rows(block, at) >= 0), len(block))
            yield from block[:at]
            of_rows = at < len(block)
            if of_rows:
                begin = _begin_of_rows(block, at)
                first, *rest = _types_and_frames([block[at][begin:], *block[at + 1 :]], headed=True)
                yield block[at][:begin] + first
                yield from rest
        headed = True


def _begin_of_rows(lines: list[str], at: int) -> int:
    """Return the position in a line where an exception from the handling of rows begins; -1 if there is none."""
    line = lines[at]
    if (found := line.find(_ABORTED)) >= 0:
        return found
    if (value := _OF_VALUES.search(line)) is not None:
        return value.start()
    if _PROXY in line:
        return -1
    # A function for `foreachBatch` is called on the driver; its traceback may have several exceptions.
    before = next((lines[n] for n in range(at - 1, -1, -1) if lines[n].strip()), "")
    return -1 if before.startswith(_JOINTS) else line.find(_TRACEBACK)


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of each exception of a Java stack trace."""
    block: list[str] = []
    for line in lines:
        if block and line.lstrip().startswith(("Caused by: ", "Suppressed: ")):
            yield block
            block = []
        block.append(line)
    yield block


def _is_block_of_rows(block: list[str], *, headed: bool) -> bool:
    if any(_ROW_FRAME.match(line) for line in block) or (headed and _PYTHON_EXCEPTION.match(block[0])):
        return True
    if headed and block[-1].endswith("...") and not any(FRAME.fullmatch(line) for line in block):
        # The trace was cut before its frames.
        return True
    # Newer versions of Spark raise the exception of a task itself, below the frames of the driver.
    return ": Job " not in block[0] and any(_JOB_FRAME.match(line) for line in block)


def _types_and_frames(lines: list[str], *, headed: bool) -> Iterator[str]:
    """Yield the lines that can't quote a value, and a single text instead of each message."""
    is_message = follows_source = False
    margin: int | None = None
    for at, line in enumerate(lines):
        if margin is not None and line.strip() and _indent(line) > margin + 1:
            continue
        margin = None
        source = SOURCE.fullmatch(line)
        if source is not None or _is_frame(line):
            margin = len(source["indent"]) if source is not None else None
            follows_source = source is not None or (follows_source and not line.strip())
            is_message = is_message and not line.strip()
            yield line
            continue
        if _CAUSE.match(line):
            yield _type_and_message(_CAUSE, line)
            is_message = True
        elif (headed and at == 0) or follows_source:
            yield _type_and_message(_PYTHON_CLASS if follows_source else _JAVA_CLASS, line)
            is_message = True
        elif _HARMLESS.fullmatch(line) or not is_message:
            yield _shown_line(line)
            is_message = not _HARMLESS.fullmatch(line)
        elif marks := _MARK.findall(line):
            yield " ".join(marks)
        follows_source = False


def _is_frame(line: str) -> bool:
    """Return whether a line is between the messages of a stack trace."""
    return bool(line.strip(" \t|+-") in TRACEBACK_HEADINGS or FRAME.fullmatch(line) or _BETWEEN.fullmatch(line))


def _type_and_message(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    if found is None:
        return _shown_line(line)
    rest = line[found.end() :]
    return found.group() + (_shown_line(rest) if rest.strip() else rest)


def _shown_line(message: str) -> str:
    """Return what may be shown of the first line of a message, which may quote a value."""
    if lost := _LOST_TASK.match(message):
        rest = message[lost.end() :]
        return message if _NO_TASK.match(rest) else lost.group() + _type_and_message(_JAVA_CLASS, rest)
    marks = _MARK.findall(message)
    if _HARMLESS.fullmatch(message) or not _MARK.sub("", message).strip():
        return message
    condition, state = _CONDITION.match(message.lstrip()), _STATE.search(message)
    kept = [condition.group()] if condition is not None else []
    kept += [WITHHELD, *marks, *([state.group()] if state is not None else [])]
    return " ".join(kept)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" |"))
