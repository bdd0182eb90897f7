"""The grades by which nodes are counted when a cluster does not define its own."""

from typing import Any

UNBOUNDED = "9223372036854775807"
_CPU = ("0", "1", "2", "4", "8", "16", "32", "64", "128", UNBOUNDED)
_MEMORY = ("0", "4Gi", "16Gi", "32Gi", "64Gi", "128Gi", "256Gi", "512Gi", "1Ti", UNBOUNDED)

DEFAULT_MODELS: tuple[dict[str, Any], ...] = tuple(
    {
        "grade": grade,
        "ranges": [
            {"name": "cpu", "min": _CPU[grade], "max": _CPU[grade + 1]},
            {"name": "memory", "min": _MEMORY[grade], "max": _MEMORY[grade + 1]},
        ],
    }
    for grade in range(9)
)
