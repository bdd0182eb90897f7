"""Field selectors: `metadata.name=web,status.phase!=Running`.

All terms must hold. In values, backslash escapes `,`, `=` and itself. Which fields a kind can be selected by is not
known here; `Selector.terms` lets the caller refuse the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from karmada.api.caching import text_cache


class FieldSelectorError(ValueError):
    """A selector that makes no sense; `text` is the selector that was given."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison; a field that an object lacks counts as the empty string."""

    field: str
    value: str
    equal: bool = True

    def matches(self, value: str) -> bool:
        return (value == self.value) == self.equal

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape(self.value)}"


_FEW = 16
"""Terms that are quicker to try one by one."""


def _passes(value: str, wanted: set[str], unwanted: set[str]) -> bool:
    return value not in unwanted and (not wanted or wanted == {value})


@dataclass(frozen=True, slots=True)
class Selector:
    """Terms in the order of their text; none means everything matches."""

    terms: tuple[Term, ...] = ()
    by_field: dict[str, tuple[set[str], set[str]]] | None = field(default=None, init=False, compare=False, repr=False)
    """The values wanted and those unwanted, where there are very many terms, which may be about the same few fields."""

    def __post_init__(self) -> None:
        if len(self.terms) > _FEW:
            sides: dict[str, tuple[set[str], set[str]]] = {}
            for term in self.terms:
                wanted, unwanted = sides.setdefault(term.field, (set(), set()))
                (wanted if term.equal else unwanted).add(term.value)
            object.__setattr__(self, "by_field", sides)

    def matches(self, fields: Mapping[str, str]) -> bool:
        return self.matches_with(lambda name: fields.get(name, ""))

    def matches_with(self, lookup: Callable[[str], str]) -> bool:
        """As `matches`, for callers that compute a field only when it is asked for."""
        if self.by_field is None:
            return all(term.matches(lookup(term.field)) for term in self.terms)
        return all(_passes(lookup(name), *sides) for name, sides in self.by_field.items())

    def required_value(self, field: str) -> str | None:
        """The one value of the field that can match, where there is only one: lets a caller use an index."""
        return next((term.value for term in self.terms if term.equal and term.field == field), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


EVERYTHING = Selector()


@text_cache(1024)
def parse(text: str) -> Selector:
    """Read the string form; `==` is the same as `=`."""
    terms = [_term(part, text) for part in sorted(_split(text)) if part]
    # A lone equals sign compares nothing with nothing.
    wanted = tuple(term for term in terms if term.field or term.value)
    return Selector(wanted) if wanted else EVERYTHING


def escape(value: str) -> str:
    """The value as it must be written in a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _term(part: str, text: str) -> Term:
    position = min((found for found in (part.find("!="), part.find("=")) if found >= 0), default=-1)
    if position < 0:
        raise FieldSelectorError(f"invalid selector: '{text}'; can't understand '{part}'", text)
    field, rest = part[:position], part[position:]
    operator = next(candidate for candidate in ("!=", "==", "=") if rest.startswith(candidate))
    return Term(field, _unescape(rest[len(operator) :], text), operator != "!=")


def _split(text: str) -> list[str]:
    """Parts between commas that no backslash precedes; escapes stay as they are."""
    parts: list[str] = []
    start, escaped = 0, False
    for index, character in enumerate(text):
        if character == "," and not escaped:
            parts.append(text[start:index])
            start = index + 1
        escaped = character == "\\" and not escaped
    return [*parts, text[start:]]


def _unescape(value: str, text: str) -> str:
    result = []
    characters = iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise FieldSelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}", text)
            result.append(escaped)
        elif character in ",=":
            code = ord(character)
            raise FieldSelectorError(f"invalid field selector: unescaped character in value: {code}", text)
        else:
            result.append(character)
    return "".join(result)
