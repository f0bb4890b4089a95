"""A text has the tokens that Spark's lexer sees in it, whatever the text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, string_literal, tokens, unquoted


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind.name, token.text) for token in tokens(text) if token.kind is not TokenKind.SPACE]


def only(text: str) -> Token:
    (token,) = tokens(text)
    return token


SIGNS = st.sampled_from(
    ["'", '"', "`", "\\", "--", "/*", "*/", "$", "$$", "r'", "X'", "\n", " ", "=>", "1.5e3", "a", "é"]
)


@given(st.lists(SIGNS | st.text(max_size=3)).map("".join))
def test_the_tokens_put_together_are_the_text_again(text):
    assert "".join(token.text for token in tokens(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "'a'",
        '"a"',
        "'it''s'",
        "'it\\'s'",
        "'a\\\\'",
        "r'a\\'",
        'R"a\\"',
        "X'1F'",
        "'a\nb'",
        "'-- /* `'",
        "$$a'b$$",
        "$t$ $$ $t$",
    ],
)
def test_a_string_is_one_token(text):
    token = only(text)

    assert (token.kind, token.whole) == (TokenKind.STRING, True)


@pytest.mark.parametrize("text", ["'a", '"a', "'a\\'", "'a''", "r'a", "$$a", "'", "'\\"])
def test_a_string_that_was_cut_goes_to_the_end_and_is_not_whole(text):
    token = only(text)

    assert (token.kind, token.whole) == (TokenKind.STRING, False)


@pytest.mark.parametrize("text", ["1", "1.5", ".5", "1.", "1e3", "1.5E-3", "10L", "5S", "1.5D", "2BD"])
def test_a_number_is_one_token(text):
    assert kinds(text) == [("NUMBER", text)]


def test_a_name_may_begin_with_digits():
    assert kinds("1a t.2b") == [("WORD", "1a"), ("WORD", "t"), ("SYMBOL", "."), ("WORD", "2b")]


def test_a_name_in_backticks_may_hold_quotes_and_doubled_backticks():
    assert kinds("`it's ``x```") == [("NAME", "`it's ``x```")]
    assert unquoted(only("`it's ``x```")) == "it's `x`"


@pytest.mark.parametrize(
    "text", ["-- a 'b", "-- a \\\n still", "/* a */", "/* a /* b */ c */", "/*+ HINT(a) */", "/* no end /* */", "--"]
)
def test_a_comment_is_one_token(text):
    assert [kind for kind, _ in kinds(text)] == ["COMMENT"]


def test_what_stands_behind_a_comment_is_none():
    assert kinds("-- a\n'b' /* c */ d") == [
        ("COMMENT", "-- a"), ("STRING", "'b'"), ("COMMENT", "/* c */"), ("WORD", "d"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ("'it''s'", "it's"),
        ("'it\\'s'", "it's"),
        ('"a""b"', 'a"b'),
        ("'a\\nb'", "a\nb"),
        ("'\\u0041\\101\\q'", "AAq"),
        ("r'a\\nb'", "a\\nb"),
        ("X'1F'", "1F"),
        ("$$a'b$$", "a'b"),
        ("$t$a$t$", "a"),
        ("'cut", "cut"),
        ("$$cut", "cut"),
    ],
)
def test_the_content_of_a_string_is_its_value(text, value):
    assert unquoted(only(text)) == value


@given(st.text())
def test_a_value_that_is_quoted_has_itself_as_content(value):
    assert unquoted(only(string_literal(value))) == value


@pytest.mark.parametrize(
    "text",
    [
        "'" * 999_999,
        "'" + "\\" * 999_999,
        "/*" * 500_000,
        "`" * 999_999,
        "--\\" * 333_333,
        "1e" * 500_000,
        "$a$" * 333_333,
    ],
    ids=lambda text: text[:4],
)
def test_a_megabyte_of_anything_is_read_in_one_pass(text):
    """A rule that reads something twice would take hours here."""
    assert sum(len(token.text) for token in tokens(text)) == len(text)
