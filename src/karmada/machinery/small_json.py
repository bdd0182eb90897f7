"""JSON for programs that read a few small documents and end.

`orjson` is several times as fast as the standard library, but importing it takes as long as reading two megabytes
without it. What the two understand differently is read by `orjson` in any case.
"""

import sys
from typing import Any

SMALL = 1 << 20


def loads(content: bytes) -> Any:
    """The value that a document holds; raises ValueError."""
    if len(content) > SMALL or b"\\u" in content or "orjson" in sys.modules:
        import orjson

        return orjson.loads(content)
    import json

    try:
        return json.loads(content.decode(), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
