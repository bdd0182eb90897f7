"""Paths of fields as messages spell them, bounded: a request may hold any number of unknown fields of any length."""

MAX_UNKNOWN = 100
"""How many unknown or duplicate fields are named, as in the reference's decoder."""
_MAX_KEY = 256


def shown(key: str) -> str:
    """A key as a step of a path; of a very long one only the beginning."""
    return key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}..."


def below(step: str, found: list[str], so_far: list[str] | None) -> list[str]:
    """The paths so far and those found below a step, at most `MAX_UNKNOWN` of them; changes and returns `so_far`."""
    paths = [] if so_far is None else so_far
    step = shown(step)
    for path in found[: MAX_UNKNOWN - len(paths)]:
        paths.append(step + path if path[:1] == "[" else f"{step}.{path}")
    return paths
