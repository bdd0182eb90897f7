"""Which versions of components may work together.

A component is of the control plane's minor version or of the one before; never newer than the control plane: upgrade
that first, and go back with it last. Components write their version on the leases that they renew.
"""

import re
from typing import NamedTuple

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


class Release(NamedTuple):
    """A version; what follows the numbers does not count."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> "Release":
        """Read `1.2.3`, with or without a `v`; raises ValueError."""
        found = _VERSION.match(text)
        if found is None:
            raise ValueError(f"{text!r} is no version: it should read as 1.2.3")
        return cls(int(found[1]), int(found[2]), int(found[3] or 0))


def problem(hub: str, component: str) -> str:
    """What is wrong with a component of a version beside a control plane of a version; nothing if it may be."""
    if not component:
        return "does not say its version: it is older than any that is supported, or not ours"
    try:
        base, other = Release.parse(hub), Release.parse(component)
    except ValueError as error:
        return str(error)
    if other[:2] > base[:2]:
        return f"is newer than the control plane ({hub}): upgrade that first"
    if other.major < base.major or other.minor < base.minor - 1:
        return f"is more than one minor version behind the control plane ({hub}): upgrade it"
    return ""
