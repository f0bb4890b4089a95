"""No value of a row is in what is shown of a failure; its classes, conditions, names and frames are."""

from __future__ import annotations

from typing import Literal

import attrs
import pytest
from openlineage_pyspark.facets.model.run import Failure, Raised
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.facets.redaction.rows import ROW_VALUES_KEY, WITHHELD, is_of_rows, shown_messages, without_rows
from openlineage_pyspark.listener.settings.keys import WORKING

SSN = "123-45-6789"
TASK = "\tat x.Y.z(Y.scala:1)\n\tat org.apache.spark.executor.Executor$TaskRunner.run(Executor.scala:9)\n"
DRIVER = "\tat x.Y.z(Y.scala:1)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
CAST = Raised(
    "org.apache.spark.SparkNumberFormatException",
    f'[CAST_INVALID_INPUT] The value \'{SSN}\' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018\n'
    f"== SQL (line 1, position 8) ==\nselect cast('{SSN}' AS INT)\n       ^^^^^",
    TASK,
    of_rows=True,
    condition="CAST_INVALID_INPUT",
    template="The value <expression> of the type <sourceType> cannot be cast to <targetType>.",
    state="22018",
    parameters=(("expression", f"'{SSN}'"), ("sourceType", '"STRING"'), ("targetType", '"INT"')),
)
CAST_SHOWN = '[CAST_INVALID_INPUT] The value *** of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018'
WORKER = f"""Traceback (most recent call last):
  File "/spark/pyspark.zip/pyspark/worker.py", line 1247, in main
    process()
  File "/app/job.py", line 3, in clean
    return int("{SSN}")
           ^^^^^^^^^^^^
ValueError: invalid literal: '{SSN}'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/job.py", line 5, in clean
    raise shop.BadRow(row)
shop.BadRow: {SSN}
is not
  File a number: {SSN}
"""
WORKER_SHOWN = f"""Traceback (most recent call last):
  File "/spark/pyspark.zip/pyspark/worker.py", line 1247, in main
  File "/app/job.py", line 3, in clean
ValueError: {WITHHELD}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/job.py", line 5, in clean
shop.BadRow: {WITHHELD}
"""
LOST = (
    "Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 2.0 (TID 3) (10.0.0.7 executor 1): "
)


def of(*raised: Raised, language: Literal["JAVA", "PYTHON"] = "JAVA", message: str | None = None) -> Failure:
    return Failure(raised[0].message if message is None else message, language, "the trace", raised)


def test_the_key_in_the_text_is_the_one_of_the_settings() -> None:
    assert ROW_VALUES_KEY in {f"spark.openlineage.{key.name}" for key in WORKING}


def test_of_a_condition_of_sparks_the_text_stays_and_of_its_parameters_the_names() -> None:
    found = without_rows(of(CAST))

    assert found.message == CAST_SHOWN
    assert found.stack_trace == f"{CAST.class_name}: {CAST_SHOWN}\n{TASK}"


@pytest.mark.parametrize(
    ("parameter", "value", "shown"),
    [
        ("path", "file:/in/part-0.parquet", "file:/in/part-0.parquet"),
        ("columnName", "`ssn`", "`ssn`"),
        ("functionName", "`clean`", "`clean`"),
        ("value", SSN, "***"),
        ("message", f"Text '{SSN}' could not be parsed", "***"),
        ("key", SSN, "***"),
        ("columnName", f"`a`\n{SSN}", "***"),
        ("errorMessage", WORKER, WORKER_SHOWN),
    ],
)
def test_a_parameter_is_shown_if_it_is_a_name(parameter: str, value: str, shown: str) -> None:
    raised = attrs.evolve(CAST, template=f"It is <{parameter}>.", parameters=((parameter, value),))

    assert without_rows(of(raised)).message == f"[CAST_INVALID_INPUT] It is {shown}. SQLSTATE: 22018"


def test_the_name_of_a_field_of_json_is_data() -> None:
    raised = attrs.evolve(
        CAST, condition="CANNOT_PARSE_JSON_FIELD", template="<fieldName>", parameters=(("fieldName", SSN),)
    )

    assert without_rows(of(raised)).message == "[CANNOT_PARSE_JSON_FIELD] *** SQLSTATE: 22018"


def test_a_condition_about_values_that_the_driver_raises_shows_none() -> None:
    """The optimizer raises such an error when it evaluates an expression."""
    assert without_rows(of(attrs.evolve(CAST, of_rows=False, frames=DRIVER))).message == CAST_SHOWN


def test_what_is_raised_in_a_task_by_anything_else_keeps_its_class_and_its_frames() -> None:
    cause = Raised("java.lang.NumberFormatException", f'For input string: "{SSN}"\n\n{SSN}', TASK, of_rows=True)
    raised = Raised("com.example.Bad", f"row {SSN}", TASK, of_rows=True)

    found = without_rows(of(raised, cause))

    assert found.message == WITHHELD
    assert found.stack_trace == (
        f"com.example.Bad: {WITHHELD}\n{TASK}Caused by: java.lang.NumberFormatException: {WITHHELD}\n\n{TASK}"
    )


def test_what_the_driver_alone_raises_keeps_its_message() -> None:
    raised = Raised("org.apache.spark.sql.AnalysisException", "[PATH_ALREADY_EXISTS] Path file:/x exists.", DRIVER)
    cause = Raised("java.io.IOException", "no space left", DRIVER)

    found = without_rows(of(raised, cause))

    assert found.message == raised.message
    assert found.stack_trace == (
        f"{raised.class_name}: {raised.message}\n{DRIVER}Caused by: {cause.class_name}: {cause.message}\n{DRIVER}"
    )


def test_the_message_of_an_aborted_job_repeats_its_cause_without_its_values() -> None:
    text = f"{LOST}{CAST.class_name}: {CAST.message}\n{TASK}\nDriver stacktrace:"
    aborted = Raised("org.apache.spark.SparkException", text, DRIVER)

    found = without_rows(of(aborted, CAST))

    assert found.message == f"{LOST}{CAST.class_name}: {CAST_SHOWN}\n{TASK}\nDriver stacktrace:"
    assert SSN not in str(found)


def test_without_its_cause_too() -> None:
    inner = f"org.apache.spark.SparkException: [TASK_WRITE_FAILED] rows to {SSN}\n{TASK}"
    text = f"{LOST}{inner}Caused by: java.sql.BatchUpdateException: duplicate key ({SSN})\n{TASK}\nDriver stacktrace:"
    aborted = Raised("org.apache.spark.SparkException", text, DRIVER)

    assert without_rows(of(aborted)).message == (
        f"{LOST}org.apache.spark.SparkException: [TASK_WRITE_FAILED] {WITHHELD}\n{TASK}"
        f"Caused by: java.sql.BatchUpdateException: {WITHHELD}\n{TASK}\nDriver stacktrace:"
    )


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("Total size of serialized results of 4 tasks is bigger than 1", None),
        (f"Task 0.0 in stage 0.0 had a not serializable result: Row({SSN})", WITHHELD),
    ],
)
def test_an_aborted_job_keeps_only_a_reason_that_holds_no_value(reason: str, shown: str | None) -> None:
    before = "Job aborted due to stage failure: "

    found = without_rows(of(Raised("org.apache.spark.SparkException", before + reason, DRIVER)))

    assert found.message == before + (shown or reason)


def test_of_a_python_function_the_frames_and_the_classes_stay() -> None:
    raised = Raised("org.apache.spark.api.python.PythonException", WORKER, TASK, of_rows=True)

    found = without_rows(of(raised, language="PYTHON"))

    assert (found.message, found.stack_trace) == (WORKER_SHOWN, WORKER_SHOWN)


def test_of_a_python_function_on_a_newer_spark_too() -> None:
    message = f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {WORKER} SQLSTATE: 38000"
    parameters = (("msg", "An exception was thrown from the Python worker"), ("traceback", WORKER))
    raised = attrs.evolve(
        CAST,
        class_name="org.apache.spark.api.python.PythonException",
        message=message,
        condition="PYTHON_EXCEPTION",
        template="<msg>: <traceback>",
        state="38000",
        parameters=parameters,
    )

    shown = f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {WORKER_SHOWN} SQLSTATE: 38000"

    assert without_rows(of(raised, language="PYTHON")).stack_trace == shown


def test_of_a_stream_only_the_text_is_known() -> None:
    first = f"org.apache.spark.SparkException: {LOST}java.lang.NumberFormatException: For input string: {SSN}"
    trace = f"{first}\nmore of {SSN}\n{TASK}\nDriver stacktrace:\n{DRIVER}Caused by: a.b.Bad: {SSN}\n\t... 3 more\n"

    found = without_rows(Failure(first, "JAVA", trace))

    assert found.message == f"org.apache.spark.SparkException: {LOST}java.lang.NumberFormatException: {WITHHELD}"
    assert found.stack_trace == (
        f"{found.message}\n{TASK}\nDriver stacktrace:\n{DRIVER}Caused by: a.b.Bad: {WITHHELD}\n\t... 3 more\n"
    )


def test_a_stream_that_the_driver_alone_fails_keeps_its_message() -> None:
    trace = f"java.io.IOException: the checkpoint is gone\n{DRIVER}"

    found = without_rows(Failure("java.io.IOException: the checkpoint is gone", "JAVA", trace))

    assert (found.message, found.stack_trace) == ("java.io.IOException: the checkpoint is gone", trace)


def test_a_trace_that_was_cut_before_its_frames_is_withheld() -> None:
    trace = "a.b.Bad: " + SSN * 3000 + "..."

    assert without_rows(Failure(trace, "JAVA", trace)).message == f"a.b.Bad: {WITHHELD}"


def test_a_function_for_each_batch_is_called_on_the_driver_and_what_it_says_of_a_task_is_withheld() -> None:
    proxy = "py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent "
    text = f'{proxy}call last):\n  File "/job.py", line 1, in <lambda>\n    x\nValueError: no orders today\n'
    nested = f"pyspark.errors.exceptions.captured.NumberFormatException: [CAST_INVALID_INPUT] '{SSN}'\n"
    joint = "\nDuring handling of the above exception, another exception occurred:\n\n"

    assert without_rows(Failure(text, "JAVA", text + DRIVER)).stack_trace == text + DRIVER
    found = without_rows(Failure(text, "JAVA", f"{text}{joint}Traceback (most recent call last):\n{nested}{DRIVER}"))
    assert found.stack_trace == (
        f"{text}{joint}Traceback (most recent call last):\npyspark.errors.exceptions.captured.NumberFormatException: "
        f"[CAST_INVALID_INPUT] {WITHHELD}\n{DRIVER}"
    )


HEADING = "Traceback (most recent call last):\n"
SCRIPT = f'{HEADING}  File "/job.py", line 3, in <module>\n    raise it\n'


def script(*raised: Raised) -> Failure:
    last = raised[-1]
    return Failure(f"{last.class_name}: {last.message}", "PYTHON", "the trace", raised)


def test_what_the_script_itself_raises_keeps_its_message() -> None:
    found = without_rows(script(Raised("ValueError", "no orders on 2024-01-01\nat all", SCRIPT)))

    assert found.message == "ValueError: no orders on 2024-01-01\nat all"
    assert found.stack_trace == f"{SCRIPT}ValueError: no orders on 2024-01-01\nat all\n"


def test_what_the_script_repeats_of_an_exception_in_a_task_is_withheld() -> None:
    java = f"An error occurred while calling o75.parquet.\n: a.b.Bad: {SSN}\n{TASK}"
    own = f"no load: An error occurred while calling o75.parquet.\n: org.apache.spark.SparkException: {LOST}a.B: {SSN}"
    joined = f"\nThe above exception was the direct cause of the following exception:\n\n{SCRIPT}"

    found = without_rows(
        script(Raised("py4j.protocol.Py4JJavaError", java, SCRIPT), Raised("RuntimeError", own, joined))
    )

    shown = f"RuntimeError: {own.removesuffix(SSN)}{WITHHELD}"
    assert found.message == shown
    assert found.stack_trace == (
        f"{SCRIPT}py4j.protocol.Py4JJavaError: An error occurred while calling o75.parquet.\n: a.b.Bad: {WITHHELD}\n"
        f"{TASK}\n{joined}{shown}\n"
    )


def test_what_the_script_repeats_of_an_earlier_failure_shows_its_text_without_values() -> None:
    earlier = shown_messages(of(CAST))
    captured = Raised("pyspark.errors.exceptions.captured.NumberFormatException", CAST.message, SCRIPT, of_rows=True)
    own = Raised("RuntimeError", f"no load of people: {CAST.message}!", SCRIPT)

    found = without_rows(script(captured, own), earlier)

    assert found.message == f"RuntimeError: no load of people: {CAST_SHOWN}!"
    assert SSN not in str(found.stack_trace)
    assert f"captured.NumberFormatException: {CAST_SHOWN}\n" in str(found.stack_trace)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"no load: {CAST.message[:45]}", f"no load: [CAST_INVALID_INPUT] {WITHHELD}"),
        (f"no load of {SSN}", "no load of ***"),
        ("[CAST_INVALID_INPUT] is what it says", "[CAST_INVALID_INPUT] is what it says"),
    ],
)
def test_a_part_of_an_earlier_message_shows_no_value(text: str, shown: str) -> None:
    found = without_rows(script(Raised("RuntimeError", text, SCRIPT)), shown_messages(of(CAST)))

    assert found.message == f"RuntimeError: {shown}"


def test_a_message_that_lost_its_last_line_break_is_known() -> None:
    raised = attrs.evolve(CAST, message=f"{CAST.message}\n")

    found = without_rows(script(Raised("a.B", CAST.message, SCRIPT, of_rows=True)), shown_messages(of(raised)))

    assert found.message == f"a.B: {CAST_SHOWN}"


def test_a_condition_that_nothing_is_known_of_keeps_its_name_and_its_state() -> None:
    text = f"[CAST_INVALID_INPUT] The value '{SSN}'\nof a row SQLSTATE: 22018"
    captured = Raised("pyspark.errors.exceptions.captured.NumberFormatException", text, SCRIPT, of_rows=True)
    own = Raised("RuntimeError", f"[LOAD_ONE] no load: {text}\nof people", SCRIPT)

    shown = f"[CAST_INVALID_INPUT] {WITHHELD} SQLSTATE: 22018"
    assert without_rows(script(captured)).message == f"{captured.class_name}: {shown}"
    assert without_rows(script(own)).message == "RuntimeError: [LOAD_ONE] *** SQLSTATE: 22018\nof people"


def test_conditions_of_pysparks_own_show_their_names() -> None:
    text = f"[CANNOT_ACCEPT_OBJECT_IN_TYPE] `IntegerType()` can not accept object `{SSN}` in type `str`."
    parameters = (("data_type", "IntegerType()"), ("obj_name", SSN), ("obj_type", "str"))
    raised = Raised("pyspark.errors.PySparkTypeError", text, SCRIPT, parameters=parameters)

    assert without_rows(script(raised)).message == (
        "pyspark.errors.PySparkTypeError: [CANNOT_ACCEPT_OBJECT_IN_TYPE] `IntegerType()` can not accept object `***` "
        "in type `str`."
    )


def test_what_has_only_a_text_from_anywhere_is_withheld() -> None:
    found = without_rows(of(Raised("", f"bad row {SSN}", of_rows=True)))

    assert (found.message, found.stack_trace) == (WITHHELD, None)


def test_what_needs_no_message_is_its_class() -> None:
    found = without_rows(of(Raised("java.lang.NullPointerException", "", TASK, of_rows=True), message="x.y: z"))

    assert (found.message, found.stack_trace) == (
        "java.lang.NullPointerException",
        f"java.lang.NullPointerException\n{TASK}",
    )


def test_a_failure_of_the_listeners_own_words_stays() -> None:
    assert without_rows(Failure("the application ended before this run did", "JAVA")).message == (
        "the application ended before this run did"
    )


def test_removing_them_again_changes_nothing() -> None:
    once = without_rows(of(CAST))

    assert without_rows(once) == once


@pytest.mark.parametrize(
    "line", ["-" * 20_000, " " * 20_000, "a." * 10_000, "[A_B" * 5_000, ": " * 10_000, "at " * 9_000]
)
def test_the_time_grows_with_the_text(line: str) -> None:
    """A quadratic pattern needs minutes here."""
    found = without_rows(Failure(f"a.b.Bad: {line}", "JAVA", f"a.b.Bad: {line}\n{line}\n{TASK}"))

    assert found.message == f"a.b.Bad: {WITHHELD}" or not line.strip()


@pytest.mark.parametrize(
    ("stack", "expected"),
    [(TASK, True), (DRIVER, False), ("\tat org.apache.spark.sql.catalyst.expressions.Cast.eval(C.scala:1)", True)],
)
def test_a_stack_says_whether_rows_were_handled(stack: str, *, expected: bool) -> None:
    assert is_of_rows(stack) is expected


def test_the_messages_are_whole_if_that_is_asked_for() -> None:
    assert Redaction(row_values=True).row_values
    assert not Redaction().row_values
