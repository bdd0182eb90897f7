"""Small makers of odd values, all from one `Random`: hypothesis' own, which shrinks, or a fast one for long runs."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

WORDS = (
    *(
        "metadata",
        "name",
        "spec",
        "data",
        "status",
        "labels",
        "annotations",
        "a",
        "b",
        "c",
        "containers",
        "env",
        "image",
    ),
    *("value", "ports", "finalizers", "kind", "apiVersion", "replicas", "items", "key", "managedFields", "f:a", "web"),
)
ODD = (
    *(
        "",
        "0",
        "-1",
        "~",
        "~1",
        "~0",
        ".",
        "..",
        "/",
        "%",
        "\x00",
        "\n",
        "\r\n",
        "\t",
        " ",
        "é",
        "\U0001f600",
        "\u2028",
    ),
    *("\ud800", "null", "true", "[", "]", "{", "}", "\\", '"', "'", "$", "$patch", "@", "*", "&", "!", "<<", "1e400"),
    *("9" * 40, "0x1f", "-0", "1.", ".5", "NaN", "a" * 300, "=", "!=", ",", "(", ")", "\x7f", "\u202e", "%00", "__"),
)
NUMBERS = (0, 1, -1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63 - 1, -(2**63), 0.5, -0.0, 1.0, 1e16, 1e-9, 1.7e308)


def word(r: Random) -> str:
    """A name: usual ones mostly."""
    if r.random() < 0.75:
        return r.choice(WORDS)
    return text(r)


def text(r: Random, longest: int = 6) -> str:
    """Pieces of odd and usual text."""
    return "".join(r.choice(ODD) if r.random() < 0.4 else r.choice(WORDS) for _ in range(r.randint(0, longest)))


def clean(r: Random) -> str:
    """Text that UTF-8 can hold."""
    return text(r).replace("\ud800", "")


def scalar(r: Random) -> Any:
    """A JSON scalar."""
    return r.choice((None, True, False, r.choice(NUMBERS), r.randint(-9, 99), clean(r), r.choice(WORDS)))


def tree(r: Random, depth: int = 4) -> Any:
    """A JSON value."""
    kind = r.random()
    if depth <= 0 or kind < 0.4:
        return scalar(r)
    if kind < 0.75:
        return {word(r).replace("\ud800", ""): tree(r, depth - 1) for _ in range(r.randint(0, 5))}
    if kind < 0.97:
        return [tree(r, depth - 1) for _ in range(r.randint(0, 5))]
    value = tree(r, 0)
    for _ in range(r.randint(1, 300)):
        value = [value] if r.random() < 0.5 else {"a": value}
    return value


def some(r: Random, make: Callable[[Random], T], most: int = 4) -> list[T]:
    """A few of a kind."""
    return [make(r) for _ in range(r.randint(0, most))]


def mutated(r: Random, data: bytes, most: int = 4) -> bytes:
    """Bytes with a few accidents: cut, doubled, swapped, flipped, something foreign put in."""
    for _ in range(r.randint(0, most)):
        at = r.randint(0, len(data))
        end = min(len(data), at + r.randint(0, 20))
        match r.randint(0, 5):
            case 0:
                data = data[:at] + data[end:]
            case 1:
                data = data[:at] + data[at:end] * r.randint(2, 5) + data[end:]
            case 2:
                data = data[:at] + bytes([r.randint(0, 255)]) + data[at:]
            case 3:
                data = data[:at] + r.choice(ODD).encode("utf-8", "surrogatepass") + data[at:]
            case 4:
                data = data[:at]
            case 5:
                data = data[:at] + bytes(byte ^ (1 << r.randint(0, 7)) for byte in data[at : at + 1]) + data[at + 1 :]
    return data


def mutated_text(r: Random, given: str) -> str:
    """The same for text."""
    return mutated(r, given.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def weighted(r: Random, choices: Sequence[tuple[int, T]]) -> T:
    """One of some, by weight."""
    total = r.randint(1, sum(weight for weight, _ in choices))
    for weight, choice in choices:
        total -= weight
        if total <= 0:
            return choice
    raise AssertionError("the weights add up")
