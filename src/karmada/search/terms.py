"""Fields of objects as tokens of the full-text index: `image:nginx*` is a lookup, as a word is. Pure.

Every value of a field is one token: a mark that no text has, the field, and the value, its punctuation replaced by
characters that are part of tokens. The beginning of a value is the beginning of its token. A second token has the value
backwards, so that the end of a value is a beginning too. Values that differ only in case, outside of ASCII or after
`LONGEST` characters share a token: whoever looks one up compares the values as well.
"""

import re

LONGEST = 300
"""Characters of a value that are looked up."""
_MARK, _BACKWARDS = "\ue000", "\ue001"
_CODES = {"cluster": "c", "image": "i", "kind": "k", "label": "l", "name": "n", "namespace": "s", "status": "t"}
_PRIVATE = re.compile("[\ue000-\uf8ff]")


class _Characters(dict[int, str]):
    """How a character is spelt in a token: letters in lower case, digits as they are, the rest as private ones."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = character.isascii() and character.isalnum()
        made = self[code] = character.lower() if plain else chr(0xE100 + code) if code < 128 else "\ue200"
        return made


_CHARACTERS = _Characters()


def token(field: str, value: str) -> str:
    """The token of a field's value."""
    return f"{_MARK}{_CODES[field]}{value[:LONGEST].translate(_CHARACTERS)}"


def backwards(field: str, value: str) -> str:
    """The token of a field's value, read from its end."""
    return f"{_BACKWARDS}{_CODES[field]}{value[: -LONGEST - 1 : -1].translate(_CHARACTERS)}"


def lookups(field: str, pattern: str) -> list[str]:
    """FTS5 expressions that every object with a matching value satisfies; none if `*` is in front and at the end."""
    beginning, *more = pattern.split("*")
    if not more:
        return [f'"{token(field, pattern)}"']
    found = [f'"{token(field, beginning)}"*'] if beginning else []
    return [*found, f'"{backwards(field, more[-1])}"*'] if more[-1] else found


def without_tokens(text: str) -> str:
    """A text in which nothing can be taken for a token of a field."""
    return text if text.isascii() else _PRIVATE.sub(" ", text)
