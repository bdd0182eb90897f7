"""JSON documents that live inside a string: changed without touching the spelling of anything else.

Numbers keep their digits (`1.0` stays `1.0`, integers of any size stay exact) and members keep their order.
"""

import json
from typing import Any


class _Digits(str):
    """A number as it was written."""

    __slots__ = ()


def parse(text: str) -> Any:
    """Parse, keeping fractional numbers as text; raises ValueError."""
    return json.loads(text, parse_float=_Digits, parse_constant=_refuse)


def write(value: Any) -> str:
    """Write compactly."""
    if isinstance(value, _Digits):
        return str(value)
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{write(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(write(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
