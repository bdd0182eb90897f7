"""What holds moves of a workload back, and what is on its way back: from the binding, in lines for people."""

from karmada.api import conditions
from karmada.api.feature_gates import DEFAULTS
from karmada.api.meta import find_condition
from karmada.api.policy.v1alpha1 import RescheduleTrigger
from karmada.explain.why.facts import Binding
from karmada.scheduler.core.trigger import is_edited, may_move


def move_lines(binding: Binding) -> list[str]:
    """One line per move that waits, is under way, or may not happen."""
    lines = []
    if text := waiting(binding):
        lines.append(f"a move waits: {text}")
    back = find_condition(binding.status.conditions, conditions.FAILING_BACK)
    if back is not None and back.status == "True":
        lines.append(f"failback since {back.last_transition_time}: it {back.message}")
    held = binding.spec.clusters and not may_move(binding, DEFAULTS, RescheduleTrigger.POLICY_CHANGE)
    if held and is_edited(binding):
        why = "failover.rescheduleTriggers lacks PolicyChange (karmadactl rebalance places it now)"
        lines.append(f"the placement was edited and takes effect when it is scheduled again: {why}")
    return lines


def waiting(binding: Binding, reason: str = "") -> str:
    """What a move waits for; with a reason, only if that is it."""
    found = find_condition(binding.status.conditions, conditions.MOVES_WAITING)
    if found is None or found.status != "True" or (reason and found.reason != reason):
        return ""
    return found.message
