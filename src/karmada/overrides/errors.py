"""The one way an override fails: the copy is not made, and the message says which value at which path was wrong."""


class OverrideError(Exception):
    """A policy cannot be applied to this resource; nothing of it takes effect."""

    policy: str = ""
    """The policy that failed, as events name it; set by whoever applies policies."""
