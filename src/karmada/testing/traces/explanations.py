"""Differences from the recordings that are meant. Mirrored for users in docs/differences-from-karmada.md."""

from karmada.testing.traces.comparing import Explanation

EXPLANATIONS: list[Explanation] = []
