"""URLs in texts keep their address, and nothing else."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.urls import without_credentials

URLS = [
    ("jdbc:postgresql://db:5432/shop", "jdbc:postgresql://db:5432/shop"),
    ("jdbc:postgresql://alice:s3cr3t@db:5432/shop", "jdbc:postgresql://db:5432/shop;***"),
    ("jdbc:postgresql://db/shop?user=alice&password=s3cr3t", "jdbc:postgresql://db/shop;***"),
    ("jdbc:mysql://alice:s3/cr3t@db/shop", "jdbc:mysql://db/shop;***"),
    ("jdbc:sqlserver://db:1433;databaseName=shop;user=alice;password={s3cr3t}", "jdbc:sqlserver://db:1433/shop;***"),
    ("jdbc:oracle:thin:alice/s3cr3t@//db:1521/shop", "jdbc:oracle://db:1521/shop;***"),
    ("jdbc:oracle:thin:alice/s3cr3t@db:1521:shop", "jdbc:oracle://db:1521/shop;***"),
    ("jdbc:oracle:thin:alice/s3cr3t", "jdbc:oracle://;***"),
    ("jdbc:db2://db:50000/shop:user=alice;password=s3cr3t;", "jdbc:db2://db:50000/shop;***"),
    ("jdbc:derby:memory:shop;create=true;user=alice", "jdbc:derby:memory:shop;***"),
    ("s3a://AKIAALICE:s3/cr3t+@bucket/orders", "s3a://***@bucket/orders"),
    ("s3a://AKIAALICE@bucket/orders", "s3a://***@bucket/orders"),
    ("s3a://bucket/orders", "s3a://bucket/orders"),
    ("abfss://box@account.dfs.core.windows.net/orders", "abfss://box@account.dfs.core.windows.net/orders"),
    ("abfss://box@account.dfs.core.windows.net/x?sv=1&sig=s3cr3t", "abfss://box@account.dfs.core.windows.net/x?***"),
    ("wasbs://box:s3cr3t@account/x", "wasbs://***@account/x"),
    ("https://alice:s3cr3t@host:8443/x", "https://***@host:8443/x"),
    ("https://host/x#access_token=s3cr3t", "https://host/x#***"),
    ("https://host/x;jsessionid=s3cr3t", "https://host/x;***"),
    ("http://host:8080/a@b", "http://host:8080/a@b"),
    ("postgresql://alice:12345@db/shop", "postgresql://***@db/shop"),
    ("k8s://https://host:443", "k8s://https://host:443"),
    ("hdfs://nn:8020/data/orders", "hdfs://nn:8020/data/orders"),
    ("alice/s3cr3t@db:1521", "***@db:1521"),
    ("alice/s3cr3t@//db:1521/shop", "***@//db:1521/shop"),
    ("alice:s3cr3t@tcp(db:3306)/shop", "***@tcp(db:3306)/shop"),
]


@pytest.mark.parametrize(("url", "shown"), URLS)
@pytest.mark.parametrize("text", ["{}", "no way to {} at all", "'{}'", "(at {}),", "a\n{}\nb"])
def test_a_url_in_a_text_is_reduced_and_what_surrounds_it_stays(url, shown, text):
    reduced = without_credentials(text.format(url))

    assert reduced == text.format(shown)
    assert without_credentials(reduced) == reduced


@pytest.mark.parametrize(
    "text",
    [
        "alice@example.com",
        "a/b@1.0",
        "$$Lambda$14/0x0008@5ce",
        "x@y",
        "//",
        "a://",
        "jdbc",
        "a @ b",
        "",
    ],
)
def test_what_is_no_login_stays(text):
    assert without_credentials(text) == text


def test_a_time_before_an_at_sign_is_taken_for_a_login():
    assert without_credentials("at 12:30@noon") == "at ***@noon"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "count", "shown"),
    [
        ("a:", 500_000, None),
        ("jdbc:", 200_000, "jdbc:jdbc://;***"),
        ("http://", 150_000, None),
        ("a:a@", 60_000, "***" * 59_999 + "@a:a@"),
        ("a://a:", 160_000, None),
        ("@", 200_000, None),
    ],
)
def test_a_megabyte_of_anything_is_read_in_one_pass(part, count, shown):
    """A pattern that backtracks would take minutes. `shown` is None where the text stays."""
    text = part * count
    found = without_credentials(text)
    assert found == (text if shown is None else shown)
