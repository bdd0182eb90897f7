"""What may be said of a URL: messages end up in logs, so a password inside of one is masked."""

import re

_PASSWORD = re.compile("(?<=//)([^/?#:]*):[^/?#]*@")


def masked(text: str) -> str:
    """A URL, or what should have been one, without its password."""
    return _PASSWORD.sub(r"\1:xxxxx@", text)
