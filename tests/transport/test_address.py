"""What is left of an address where it is shown, logged, or kept as a spool's destination."""

from __future__ import annotations

import pytest
from openlineage_pyspark.transport.address import holds_login, without_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://u:p@h:5000/x", "http://h:5000/x"),
        ("http://token@h", "http://h"),
        ("http://u:pa#ss@h", "http://h"),
        ("http://u:pa?ss@h/x?y=1#z", "http://h/x"),
        ("http://u:pa/ss@h", "http://h"),
        ("http://u:p//a@h", "http://h"),
        ("http://u:p@ss@[::1]:5000/x", "http://[::1]:5000/x"),
        ("s3a://AK:SE/CRET@b/p", "s3a://b/p"),
        ("abfss://container:key@account/p", "abfss://account/p"),
        ("u:p//a@h", "h"),
        ("u:p@h:9092", "h:9092"),
        ("//u:p@h/x", "//h/x"),
        ("kafka://u:p/,w@h:9092,i:9092/t", "kafka://h:9092,i:9092/t"),
        # The last one may be the login's or the query's.
        ("http://u:p@h/x?sig=a@b", "http://***"),
    ],
)
def test_a_login_is_cut_whatever_signs_are_in_it(address: str, shown: str) -> None:
    assert (without_secrets(address), holds_login(address)) == (shown, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://h:5000/base", "http://h:5000/base"),
        ("http://h/x?mail=a@b#c", "http://h/x"),
        ("http://h:5000/a@b", "http://h:5000/a@b"),
        ("http://[::1]:5000/a@b", "http://[::1]:5000/a@b"),
        ("s3a://bucket/a@b", "s3a://bucket/a@b"),
        ("abfss://container@account.dfs.core.windows.net/a@b", "abfss://container@account.dfs.core.windows.net/a@b"),
        ("hdfs://nn:8020/user/a@b", "hdfs://nn:8020/user/a@b"),
        ("hdfs:///a@b", "hdfs:///a@b"),
        ("kafka://h:9092,i:9092/t", "kafka://h:9092,i:9092/t"),
        ("/moved?key=1", "/moved"),
        ("localhost:5000", "localhost:5000"),
        ("", ""),
    ],
)
def test_an_address_without_a_login_stays_but_for_query_and_fragment(address: str, shown: str) -> None:
    assert (without_secrets(address), holds_login(address)) == (shown, False)
