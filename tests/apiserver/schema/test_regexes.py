"""Patterns run in linear time, and are refused in the words of the API."""

import pytest

from karmada.apiserver.schema.regexes import BadExpression, compiled, searcher


def test_texts_that_would_stop_a_backtracking_engine() -> None:
    matches = searcher("^[!-~]+([\t ]?[!-~]+)*$")
    assert not matches("a" * 5000 + "\x00")
    assert not matches("a" * 60 + "\x00")
    assert matches("a" * 5000)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[", "missing closing ]: `[`"),
        ("a(", "missing closing ): `a(`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("\\1", "invalid escape sequence: `\\1`"),
    ],
)
def test_bad_patterns(pattern: str, text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        compiled(pattern)
    assert str(caught.value) == f"error parsing regexp: {text}"


def test_the_dialect_is_that_of_go() -> None:
    assert searcher("^[[:alpha:]]+\\z")("abc")
    assert not searcher("^\\d$")("٣")


def test_programs_are_kept_by_their_weight() -> None:
    assert compiled("^[a-z]+$") is compiled("^[a-z]+$")
    first = compiled("a{1,1000}")
    for number in range(100):
        compiled(f"[^\\x00-\\x7f]{{1,{900 + number}}}")
    assert compiled("a{1,1000}") is not first
