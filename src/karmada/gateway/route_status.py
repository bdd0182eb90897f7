"""What the gateway says of an HTTPRoute in its status, under its own controller name. Pure.

Other controllers' entries are left as they are.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from karmada.api.meta import Condition, set_condition
from karmada.gateway.httproutes import NO_PARENT, HttpRoute, Refusal, parents_of

JSONObject = dict[str, Any]
CONTROLLER = "karmada.io/gateway"
ACCEPTED, RESOLVED, READY = "Accepted", "ResolvedRefs", "EndpointsReady"
NOT_FOUND = frozenset({"ServiceNotFound", "ServiceNotPropagated", "PortNotFound"})
"""Problems of Services that make a reference lead nowhere; with others it leads to nobody who is ready."""


def described(
    tree: JSONObject,
    gateway: str,
    route: HttpRoute | None,
    conflicts: Sequence[Refusal],
    problems: Iterable[Refusal],
    now: str,
) -> JSONObject:
    """The route with its status as it should be; without our entries where it is no route of this gateway."""
    status = tree.get("status") or {}
    before = [each for each in status.get("parents") or () if isinstance(each, dict)]
    others = [each for each in before if each.get("controllerName") != CONTROLLER]
    ours = []
    for ref in parents_of(tree, gateway) if route is not None else ():
        known = next((each for each in before if each not in others and each.get("parentRef") == ref), {})
        ours.append(_entry(tree, ref, known, route, conflicts, tuple(problems), now))
    if not ours and others == before:
        return tree
    return {**tree, "status": {**status, "parents": [*others, *ours]}}


def _entry(
    tree: JSONObject,
    ref: JSONObject,
    known: JSONObject,
    route: HttpRoute | None,
    conflicts: Sequence[Refusal],
    problems: Sequence[Refusal],
    now: str,
) -> JSONObject:
    refused = [route.refused] if route is not None and route.refused is not None else []
    if not refused and (ref.get("sectionName") or ref.get("port")):
        refused = [Refusal(NO_PARENT, "the gateway has no listeners to choose from: leave out sectionName and port")]
    unresolved = list(route.unresolved) if route is not None else []
    unresolved += [Refusal("BackendNotFound", each.message) for each in problems if each.reason in NOT_FOUND]
    unready = [each for each in problems if each.reason not in NOT_FOUND]
    conditions = _conditions(known.get("conditions"))
    generation = int(tree["metadata"].get("generation") or 0)
    for kind, good, bad in (
        (ACCEPTED, "Accepted", [*refused, *conflicts]),
        (RESOLVED, "ResolvedRefs", unresolved),
        (READY, "Ready", unready),
    ):
        new = Condition(
            type=kind,
            status="False" if bad else "True",
            reason=bad[0].reason if bad else good,
            message="; ".join(each.message for each in bad),
            last_transition_time=now,
            observed_generation=generation,
        )
        conditions = set_condition(conditions, new)
    return {"parentRef": ref, "controllerName": CONTROLLER, "conditions": msgspec.to_builtins(conditions)}


def _conditions(given: object) -> tuple[Condition, ...]:
    """The conditions there were; what cannot be read is written anew."""
    try:
        return msgspec.convert(given or (), tuple[Condition, ...])
    except msgspec.ValidationError:
        return ()
