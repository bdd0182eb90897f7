"""The object that ownership of a new one is measured against.

The API's own types have fields that are always there: parts that are structures by value, and fields written even
when zero. Creating an object does not make anyone own those as such, only what is set in them. Custom resources
start from nothing.
"""

from functools import cache
from typing import Any

from karmada.apiserver.managedfields.fieldset import EMPTY
from karmada.apiserver.schema.model import Schema

_ZERO_OF_TYPE = {"string": "", "integer": 0, "number": 0, "boolean": False}
_ZERO_OF_CODE = {"q": "0", "i": 0, "n": None}


def zero_object(schema: Schema) -> dict[str, Any]:
    """What an object of a kind holds before anything is set; not to be changed."""
    return _zero(schema) if schema.wire else EMPTY


@cache
def _zero(schema: Schema) -> dict[str, Any]:
    properties = schema.properties or {}
    found: dict[str, Any] = {}
    for field, code in (schema.wire or {}).items():
        inner = properties.get(field)
        if inner is None:
            continue
        if code == "v":
            found[field] = _zero(inner) if inner.properties is not None else None
        elif code == "s":
            found[field] = None if inner.name or inner.format == "byte" else _ZERO_OF_TYPE.get(inner.type)
        elif code in _ZERO_OF_CODE:
            found[field] = _ZERO_OF_CODE[code]
    return found
