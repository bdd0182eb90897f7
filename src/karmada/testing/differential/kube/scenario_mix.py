"""Which scenario a seed stands for."""

from collections.abc import Callable
from random import Random

from karmada.testing.differential.kube.admitting import policy_scenario, webhook_scenario
from karmada.testing.differential.kube.applying import apply_scenario
from karmada.testing.differential.kube.browsing import browse_scenario
from karmada.testing.differential.kube.deleting import delete_scenario
from karmada.testing.differential.kube.directives import directive_scenario, table_scenario
from karmada.testing.differential.kube.editing import edit_scenario
from karmada.testing.differential.kube.evolving import evolving_scenario
from karmada.testing.differential.kube.expressing import express_scenario
from karmada.testing.differential.kube.granting import grant_scenario
from karmada.testing.differential.kube.limits import limit_scenario
from karmada.testing.differential.kube.others import access_scenario, custom_scenario, parts_scenario
from karmada.testing.differential.kube.ruling import rule_scenario
from karmada.testing.differential.kube.scenarios import Step, object_scenario
from karmada.testing.differential.kube.selecting import select_scenario
from karmada.testing.differential.kube.watching import watch_scenario

SCENARIOS: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "object": (46, object_scenario),
    "custom": (8, custom_scenario),
    "access": (5, access_scenario),
    "parts": (6, parts_scenario),
    "apply": (7, apply_scenario),
    "watch": (4, watch_scenario),
    "webhook": (3, webhook_scenario),
    "policy": (3, policy_scenario),
    "limits": (4, limit_scenario),
    "evolving": (4, evolving_scenario),
    "directive": (4, directive_scenario),
    "table": (3, table_scenario),
    "grant": (3, grant_scenario),
    "browse": (2, browse_scenario),
    "edit": (10, edit_scenario),
    "delete": (7, delete_scenario),
    "rule": (2, rule_scenario),
    "express": (3, express_scenario),
    "select": (6, select_scenario),
}
"""By name, with weights: objects of built-in kinds mostly."""


def any_scenario(dice: Random, only: str = "") -> list[Step]:
    """A random one, or one of that name."""
    if only:
        return SCENARIOS[only][1](dice)
    weights = [weight for weight, _ in SCENARIOS.values()]
    return dice.choices([made for _, made in SCENARIOS.values()], weights)[0](dice)
