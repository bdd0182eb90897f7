"""Warnings as header fields, within the bounds that the reference sets itself: clients limit the headers they read.

All of them in full while they are short together; else each cut to `ITEM` characters, and no more than `TOTAL`.
"""

import re
from collections.abc import Iterable

TOTAL = 4096
ITEM = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def warning_headers(warnings: Iterable[str]) -> list[str]:
    """The values of `Warning` headers, each warning once."""
    texts = list(dict.fromkeys(text for text in warnings if text))
    if sum(map(len, texts)) > TOTAL:
        kept: list[str] = []
        left = TOTAL
        for text in texts:
            left -= min(len(text), ITEM)
            if left < 0:
                break
            kept.append(text[:ITEM])
        texts = kept
    return [f'299 - "{_quoted(text)}"' for text in texts]


def _quoted(text: str) -> str:
    return _CONTROL.sub(" ", text.replace("\\", "\\\\").replace('"', '\\"'))
