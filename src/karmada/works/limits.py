"""How far the Works of a binding may follow its schedule result now: the disruption budget and the fence of its policy.

Every move ends in Works that shrink, go or appear, whatever caused it; this is where all of them are limited.

- *Budget*: Works grow at once and shrink only by what is ready beyond the wanted replicas less the budget. Replicas
  that are not ready cost nothing; those of a cluster that does not answer may still run, and stay until others do. A
  policy with `failback` and no budget of its own has a budget of 0.
- *Fence*: Works of clusters that are left are deleted first; nothing starts or grows elsewhere until they are gone,
  which they are when the member confirmed it, or until the timeout has passed since their deletion.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from karmada.api import conditions, evictions, names
from karmada.api.base import IntOrString
from karmada.api.policy.v1alpha1 import FailoverBehavior
from karmada.api.timestamps import parse
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBindingSpec, TargetCluster
from karmada.works.build import targets
from karmada.works.copies import Copy, Facts, copies_of, share_of

LOOK = 5.0
"""Seconds until a fence is looked at again."""
SLOW_LOOK = 30.0
"""The same for a budget, whose end the reports of members announce."""


class Waiting(NamedTuple):
    """Why a move is not finished."""

    reason: str
    message: str
    look_again: float
    """Seconds until it is worth another look."""


class Limited(NamedTuple):
    """What may be done now."""

    delete: list[Work]
    replicas: dict[str, int]
    """Replicas of clusters that may not have what was decided for them yet."""
    unwritten: set[str]
    """Clusters that get nothing yet."""
    waiting: Waiting | None


def has_limits(failover: FailoverBehavior | None) -> bool:
    """Whether a policy limits moves."""
    return failover is not None and not (
        failover.disruption_budget is None and failover.fencing is None and failover.failback is None
    )


def purges_directly(failover: FailoverBehavior) -> bool:
    """Whether a purge of a copy is obeyed at once: a budget of its own holds against it, and a fence waits better."""
    return failover.disruption_budget is None and failover.fencing is None


def unavailable_of(limit: IntOrString, wanted: int) -> int:
    """How many replicas `maxUnavailable` means; shares are rounded down, what cannot be read allows nothing."""
    if isinstance(limit, int):
        return max(0, limit)
    digits = limit.removesuffix("%")
    return wanted * min(100, int(digits)) // 100 if digits.isdecimal() and limit.endswith("%") else 0


def limited(spec: ResourceBindingSpec, works: Iterable[Work], unwanted: list[Work], facts: Facts) -> Limited:
    """What may be done towards the schedule result; `unwanted` are the Works that nothing keeps."""
    assert spec.failover is not None
    works = list(works)
    if spec.failover.fencing is not None:
        return _fenced(spec, works, unwanted, facts)
    return _budgeted(spec, works, unwanted, facts)


def _budgeted(spec: ResourceBindingSpec, works: list[Work], unwanted: list[Work], facts: Facts) -> Limited:
    copies = copies_of(spec, works, facts)
    shares = {one.name: facts.overridden.get(one.name, share_of(spec, one)) for one in targets(spec)}
    assert spec.failover is not None
    budget = spec.failover.disruption_budget
    wanted = max(sum(shares.values()), spec.replicas)
    allowed = unavailable_of(budget.max_unavailable, wanted) if budget is not None else 0
    needed = wanted - allowed
    available = sum(copy.ready for copy in copies.values())
    leaving = {work.metadata.namespace for work in unwanted}
    replicas: dict[str, int] = {}
    held: set[str] = set()
    for cluster, copy in sorted(copies.items()):
        gone = copy.work.metadata.namespace in leaving
        if not gone and cluster not in shares:
            continue
        floor = 0 if gone else shares[cluster]
        spare = max(0, available - copy.ready + copy.at_stake - needed)
        left = _shrunk(copy, floor, spare, fixed=cluster in facts.overridden)
        available -= max(0, copy.ready - left)
        if left > floor:
            held.add(cluster)
            if not gone or copy.replicas not in (None, left):
                replicas[cluster] = left
    delete = [work for work in unwanted if _cluster(work) not in held]
    return Limited(delete, replicas, set(), _over_budget(sorted(held), allowed, wanted, budget is not None))


def _shrunk(copy: Copy, floor: int, spare: int, fixed: bool) -> int:
    """How many replicas a copy keeps when so many ready ones can be spared; those that are not ready go first."""
    if copy.at_stake - floor <= spare:
        return floor
    if copy.replicas is None:
        return copy.at_stake
    return copy.replicas if fixed else copy.at_stake - spare


def _over_budget(held: list[str], allowed: int, wanted: int, own: bool) -> Waiting | None:
    if not held:
        return None
    why = f"at most {allowed} of {wanted} may be unavailable (failover.disruptionBudget)"
    if not own:
        why = "none may be unavailable meanwhile (failover.failback)"
    text = f"replicas stay in {', '.join(held)} until others are ready: {why}"
    return Waiting(conditions.REASON_DISRUPTION_BUDGET, text, SLOW_LOOK)


def _fenced(spec: ResourceBindingSpec, works: list[Work], unwanted: list[Work], facts: Facts) -> Limited:
    wanted = {target.name: target for target in targets(spec)}
    if not wanted:
        return Limited(unwanted, {}, set(), None)
    left = [work for work in works if _cluster(work) not in wanted]
    spared = {task.from_cluster for task in spec.graceful_eviction_tasks if task.purge_mode == evictions.PURGE_NEVER}
    delete = [work for work in left if _cluster(work) not in spared]
    running = sorted({_cluster(work) for work in left if not _is_given_up(spec, work, facts.now)})
    if not running:
        return Limited(delete, {}, set(), None)
    present = {_cluster(work) for work in works}
    unwritten = {name for name in wanted if name not in present}
    replicas = _not_grown(spec, wanted, copies_of(spec, works, facts))
    if not unwritten and not replicas:
        return Limited(delete, {}, set(), None)
    waits = ", ".join(sorted(unwritten | replicas.keys()))
    text = f"{waits} waits until {', '.join(running)} confirms that the copy there has stopped (failover.fencing)"
    return Limited(delete, replicas, unwritten, Waiting(conditions.REASON_FENCED, text, LOOK))


def _not_grown(
    spec: ResourceBindingSpec, wanted: Mapping[str, TargetCluster], copies: Mapping[str, Copy]
) -> dict[str, int]:
    """The replicas of the targets that would get more than they have."""
    return {
        name: copy.replicas
        for name, copy in copies.items()
        if name in wanted and copy.replicas is not None and copy.replicas < share_of(spec, wanted[name])
    }


def _is_given_up(spec: ResourceBindingSpec, work: Work, now: float) -> bool:
    """Whether a copy that has not confirmed its stop is waited for no longer."""
    assert spec.failover is not None
    assert spec.failover.fencing is not None
    timeout, deleted = spec.failover.fencing.timeout_seconds, work.metadata.deletion_timestamp
    return timeout is not None and deleted is not None and now >= parse(deleted).timestamp() + timeout


def _cluster(work: Work) -> str:
    return names.cluster_of_execution_space(work.metadata.namespace)


def resized(target: TargetCluster, replicas: int) -> TargetCluster:
    """A target with other replicas than were decided."""
    return msgspec.structs.replace(target, replicas=replicas)
