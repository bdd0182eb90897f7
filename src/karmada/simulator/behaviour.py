"""How simulated containers behave: decided by the image, and changed at any time.

The first rule whose pattern matches an image decides; an image without a rule runs and becomes ready. Patterns are
those of the shell (`*broken*`), compared with the whole image reference.
"""

from collections.abc import Callable
from enum import StrEnum
from fnmatch import fnmatchcase
from ipaddress import IPv4Network, IPv6Network

import msgspec


class Fate(StrEnum):
    """What becomes of a container."""

    READY = "Ready"
    """It runs and becomes ready (after `seconds`, if given)."""
    NEVER_READY = "NeverReady"
    """It runs and never becomes ready."""
    CRASH = "Crash"
    """It ends with exit code 1 (after `seconds`) again and again."""
    MISSING = "Missing"
    """The image cannot be pulled."""


class ImageRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What images that match a pattern do."""

    pattern: str
    fate: Fate = Fate.READY
    seconds: float = 0.0


USUAL = (
    ImageRule("*broken*", Fate.NEVER_READY),
    ImageRule("*crash*", Fate.CRASH),
    ImageRule("*missing*", Fate.MISSING),
    ImageRule("*does-not-exist*", Fate.MISSING),
)
"""What images are for that nobody wrote a rule for: their names say what will happen."""


class Behaviour:
    """The present rules of one cluster."""

    def __init__(
        self, rules: tuple[ImageRule, ...] = USUAL, ready_seconds: float = 0.0, job_seconds: float = 0.0
    ) -> None:
        self.rules = list(rules)
        self.ready_seconds = ready_seconds
        """How long images without a rule take to become ready."""
        self.job_seconds = job_seconds
        """How long containers that are meant to end run, where their command does not say."""
        self.pod_address = ""
        """The address of all pods, where they are to have the same."""
        self.pod_range: IPv4Network | IPv6Network | None = None
        """Where pods have their addresses, if not where those of every member have them."""
        self.dead_nodes: set[str] = set()
        """Nodes whose kubelet is gone."""
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called when rules or nodes change."""
        self._listeners.append(listener)

    def changed(self) -> None:
        """Notify all listeners of a change."""
        for listener in self._listeners:
            listener()

    def of(self, image: str) -> ImageRule:
        """What an image does."""
        for rule in self.rules:
            if fnmatchcase(image, rule.pattern):
                return rule
        return ImageRule("*", Fate.READY, self.ready_seconds)

    def set_rule(self, rule: ImageRule) -> None:
        """Let a rule decide before all others; replaces one with the same pattern."""
        self.rules = [rule, *(other for other in self.rules if other.pattern != rule.pattern)]
        self.changed()

    def drop_rule(self, pattern: str) -> None:
        """Forget the rule of a pattern."""
        self.rules = [rule for rule in self.rules if rule.pattern != pattern]
        self.changed()
