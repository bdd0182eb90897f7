"""Regular expressions in RE2 syntax, as schemas and CEL use them, run by Python's engine.

The dialects differ little: `\\z` is `\\Z` here, and named classes like `[[:alpha:]]` are spelled out. An expression
that RE2 would reject, because it needs backtracking, is refused: users must not write what no other server takes.
"""

import re
from functools import lru_cache

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NAMED_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_BACKTRACKING = re.compile(r"\(\?(?:[=!]|<[=!]|\(|P=|>)|(?<!\\)\\[1-9]")


class BadExpression(ValueError):
    """An expression that cannot be used; the text is in the words of RE2."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled expression; ASCII classes as in RE2."""
    found = _BACKTRACKING.search(pattern)
    if found is not None:
        what = "invalid escape sequence" if found[0].startswith("\\") else "invalid or unsupported Perl syntax"
        raise BadExpression(f"error parsing regexp: {what}: `{found[0]}`")
    text = _NAMED_CLASS.sub(lambda match: _CLASSES.get(match[2], match[0]), pattern).replace("\\z", "\\Z")
    try:
        return re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadExpression(f"error parsing regexp: {_in_re2_words(error, pattern)}") from None


def _in_re2_words(error: Exception, pattern: str) -> str:
    text = str(error)
    if "unterminated character set" in text:
        position = getattr(error, "pos", 0) or 0
        return f"missing closing ]: `{pattern[position:]}`"
    if "missing ), unterminated subpattern" in text:
        return f"missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in text:
        return f"unexpected ): `{pattern}`"
    if "nothing to repeat" in text:
        position = getattr(error, "pos", 0) or 0
        return f"missing argument to repetition operator: `{pattern[position : position + 1]}`"
    if "bad escape (end of pattern)" in text:
        return "trailing backslash at end of expression: ``"
    return f"{text}: `{pattern}`"
