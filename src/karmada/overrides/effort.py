"""How much of override policies may be compared with one copy, and how much they may change of it.

Copies are made beside the work of everybody else, anew for every cluster, and overriders times what they change is more
than either. No policy that somebody wrote for a purpose comes near.
"""

from karmada.overrides.errors import OverrideError

MOST = 2_000_000
"""Steps: a word, a label or a container that is looked at is one, and so is a selector, and each of its terms."""
IMAGE = 100
"""Steps of taking an image name apart and putting it together."""
DOCUMENT = 1
"""Steps of each character of a document that is read and written."""
RULE = 500
"""Steps of each rule: it makes the objects that it changes anew."""
LONGEST_IMAGE = 1024
"""Characters of an image name that overriders make: registries know none of more than a few hundred."""
MOST_ALIKE = 16
"""Containers of one name that are changed: those of a pod all differ, but other kinds are called Job, too."""


class Effort:
    """What is left to be spent on one copy."""

    def __init__(self) -> None:
        self._left = MOST

    def spend(self, steps: int) -> None:
        """Raise `OverrideError` when nothing is left."""
        self._left -= steps
        if self._left < 0:
            raise OverrideError(
                f"the override policies compare and change too much of one resource: more than {MOST} steps"
            )
