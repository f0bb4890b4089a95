"""Stand-ins for what only data know, and for modules that reach other systems."""

from __future__ import annotations

from openlineage_pyspark.workbench.dryrun.modules import StandIn, guarded_imports
from openlineage_pyspark.workbench.dryrun.standins import count_of


def test_a_count_tells_each_decision_and_no_text_of_it() -> None:
    told: list[str] = []
    count = count_of(lambda: told.append("decided"))
    assert f"{count} rows, {count + 1}, {count - count}" == "1 rows, 2, 0"
    assert told == []
    assert [count > 0, count == 0, bool(count), count + 1 < 5, not (count - count)] == [True, False, True, True, True]
    assert len(told) == 5


def test_a_stand_in_takes_every_use_and_says_what_it_stands_for() -> None:
    client = StandIn("boto3").client("s3")
    assert str(client.get_object(Bucket="b")["Body"].read()) == "{boto3.client().get_object()['Body'].read()}"
    assert f"s3a://{client.bucket}/x" == "s3a://{boto3.client().bucket}/x"
    assert list(client.list()) == []
    with client.open() as opened:
        opened.write("x")


def test_a_module_that_a_script_can_do_without_is_not_replaced() -> None:
    source = "import a\ntry:\n    import b.c\n    from d.e import f\nexcept ImportError:\n    b = None\n"
    assert guarded_imports(source) == {"b", "d"}
    assert guarded_imports("def (") == frozenset()
