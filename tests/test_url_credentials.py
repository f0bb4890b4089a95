"""
Credentials in addresses: one table for the two places that remove them.

`transport.address` handles a single address, `facets.urls` the URLs inside any text. They share no code,
because `transport` imports nothing from `facets`, but must agree on what remains.
"""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.facets.urls import without_credentials
from openlineage_pyspark.transport.address import holds_login, without_secrets

LOGINS = [
    ("http://alice:s3cr3t@h:5000/x", "http://h:5000/x"),
    ("http://s3cr3t@h", "http://h"),
    ("http://alice:s3#cr3t@h", "http://h"),
    ("http://alice:s3?cr3t@h/x?y=1#z", "http://h/x"),
    ("http://alice:s3/cr3t@h", "http://h"),
    ("http://alice:s3//cr3t@h", "http://h"),
    ("http://alice:s3@cr3t@[::1]:5000/x", "http://[::1]:5000/x"),
    ("https://alice:s3cr3t@h:8443/x?a=1&sig=s3cr3t", "https://h:8443/x"),
    ("postgresql://alice:12345@db/shop", "postgresql://db/shop"),
    ("s3a://AKALICE:s3/cr3t@b/p", "s3a://b/p"),
    ("s3a://AKALICE@b/p", "s3a://b/p"),
    ("abfss://container:s3cr3t@account/p", "abfss://account/p"),
    ("wasbs://container:s3cr3t@account/p", "wasbs://account/p"),
    ("alice:s3//cr3t@h", "h"),
    ("alice:s3cr3t@h:9092", "h:9092"),
    ("kafka://alice:s3/,cr3t@h:9092,i:9092/t", "kafka://h:9092,i:9092/t"),
]
NO_LOGINS = [
    ("http://h:5000/base", "http://h:5000/base"),
    ("http://h/x?mail=a@b#c", "http://h/x"),
    ("https://h/x?api_key=s3cr3t", "https://h/x"),
    ("https://h/x#access_token=s3cr3t", "https://h/x"),
    ("http://h:5000/a@b", "http://h:5000/a@b"),
    ("http://[::1]:5000/x", "http://[::1]:5000/x"),
    ("s3a://bucket/a@b", "s3a://bucket/a@b"),
    ("abfss://container@account.dfs.core.windows.net/a@b", "abfss://container@account.dfs.core.windows.net/a@b"),
    ("hdfs://nn:8020/user/a@b", "hdfs://nn:8020/user/a@b"),
    ("hdfs:///a@b", "hdfs:///a@b"),
    ("kafka://h:9092,i:9092/t", "kafka://h:9092,i:9092/t"),
    ("localhost:5000", "localhost:5000"),
    ("", ""),
]
MARKS = re.compile(r"\*{3}@|[?#]\*{3}(?= )")
"""What stands in a text in place of a login, or of a query or fragment."""


@pytest.mark.parametrize(("address", "shown"), LOGINS)
def test_a_login_is_cut_from_an_address_whatever_characters_are_in_it(address: str, shown: str) -> None:
    assert (without_secrets(address), holds_login(address)) == (shown, True)


@pytest.mark.parametrize(("address", "shown"), NO_LOGINS)
def test_an_address_without_a_login_loses_only_query_and_fragment(address: str, shown: str) -> None:
    assert (without_secrets(address), holds_login(address)) == (shown, False)


@pytest.mark.parametrize(("address", "shown"), [*LOGINS, *NO_LOGINS])
def test_an_address_in_a_text_keeps_what_the_address_alone_keeps(address: str, shown: str) -> None:
    assert MARKS.sub("", without_credentials(f"no way to {address} at all")) == f"no way to {shown} at all"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        # The last `@` may belong to the login or to the query.
        ("http://alice:s3cr3t@h/x?sig=a@b", "http://***"),
        # In a text, slashes without a scheme count as part of the login.
        ("//alice:s3cr3t@h/x", "//h/x"),
        ("/moved?key=1", "/moved"),
        ("http://[::1]:5000/a@b", "http://[::1]:5000/a@b"),
    ],
)
def test_a_single_address_is_read_to_its_end(address: str, shown: str) -> None:
    assert without_secrets(address) == shown
