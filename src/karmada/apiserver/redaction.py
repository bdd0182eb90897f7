"""What must not be quoted in a message: messages get into logs, events and the hands of others.

A Secret may be anywhere in an object: the object itself, a manifest carried by a custom object, the text of an
annotation or of a file. So nothing is quoted of what names a kind of Secret anywhere, whatever the place.
"""

import re
from typing import Any

REDACTED = "<secret contents redacted>"
"""What messages show in place of a secret."""
_NAMED = re.compile("Secret(?:List)?(?![A-Za-z])")


def holds_secret(*trees: Any) -> bool:
    """Whether a text anywhere in the trees names a kind of Secret."""
    waiting = list(trees)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, str) and _NAMED.search(part):
            return True
    return False
