"""How a Deployment gets from its old ReplicaSets to its new one: arithmetic on plain numbers and trees, no I/O."""

from dataclasses import dataclass
from hashlib import blake2b

import orjson

from karmada.machinery.transport import JSONObject

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_LETTERS = str.maketrans("0123456789", "bcdfghjklm")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many pods there may and must be during a rollout."""

    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a ReplicaSet: asked for, and able to serve."""

    name: str
    replicas: int
    available: int


def template_hash(template: JSONObject, collisions: int = 0) -> str:
    """A short name for a pod template."""
    text = orjson.dumps(template, option=orjson.OPT_SORT_KEYS) + b"%d" % collisions
    number = int.from_bytes(blake2b(text, digest_size=4).digest(), "big")
    return f"{number:010d}".translate(_LETTERS)


def same_template(left: JSONObject, right: JSONObject) -> bool:
    """Whether two pod templates are the same but for the hash label."""
    return _without_hash(left) == _without_hash(right)


def _without_hash(template: JSONObject) -> JSONObject:
    metadata = {name: value for name, value in (template.get("metadata") or {}).items() if value is not None}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != HASH_LABEL}
    return template | {"metadata": metadata | {"labels": labels}}


def limits_of(deployment: JSONObject) -> Limits:
    """The limits of a Deployment in numbers of pods; they always leave room to move."""
    replicas = replicas_of(deployment)
    strategy = deployment["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return Limits(0, 0)
    rolling = strategy.get("rollingUpdate") or {}
    surge = resolved(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = resolved(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return Limits(surge, min(unavailable, replicas))


def resolved(value: int | str, total: int, *, up: bool) -> int:
    """A number, or a percentage of a total."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * total
    return -(-share // 100) if up else share // 100


def replicas_of(obj: JSONObject) -> int:
    """The replicas a workload asks for."""
    replicas = obj["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def grown(replicas: int, limits: Limits, new: Size, old: list[Size]) -> int:
    """The size the new set may have now."""
    if new.replicas >= replicas:
        return replicas
    room = replicas + limits.surge - new.replicas - sum(size.replicas for size in old)
    return new.replicas + max(0, min(room, replicas - new.replicas))


def shrunk(replicas: int, limits: Limits, new: Size, old: list[Size]) -> dict[str, int]:
    """The sizes the old sets may shrink to now (oldest first in `old`): pods that do not serve go first."""
    least = replicas - limits.unavailable
    everything = new.replicas + sum(size.replicas for size in old)
    room = everything - least - (new.replicas - new.available)
    sizes = {size.name: size.replicas for size in old}
    if room <= 0:
        return {}
    for size in old:
        unhealthy = min(room, max(0, sizes[size.name] - size.available))
        sizes[size.name] -= unhealthy
        room -= unhealthy
    serving = new.available + sum(min(size.available, sizes[size.name]) for size in old)
    spare = serving - least
    for size in old:
        taken = max(0, min(spare, sizes[size.name]))
        sizes[size.name] -= taken
        spare -= taken
    return {size.name: sizes[size.name] for size in old if sizes[size.name] != size.replicas}


def proportional(replicas: int, limits: Limits, sets: list[tuple[Size, int]]) -> dict[str, int]:
    """The sizes of several sets after the Deployment was scaled in the middle of a rollout.

    `sets` come with the maximum they were last sized for. Each gets its share of the change; what rounding leaves goes
    to the largest.
    """
    total = sum(size.replicas for size, _ in sets)
    allowed = replicas + limits.surge if replicas else 0
    change = allowed - total
    ordered = sorted(sets, key=lambda entry: (-entry[0].replicas, entry[0].name))
    sizes = {size.name: size.replicas for size, _ in sets}
    given = 0
    for size, maximum in ordered:
        left = change - given
        share = round(size.replicas * allowed / (maximum or total or 1)) - size.replicas
        share = max(left, min(share, 0)) if change < 0 else min(left, max(share, 0))
        sizes[size.name] = max(0, size.replicas + share)
        given += share
    if ordered and given != change:
        first = ordered[0][0].name
        sizes[first] = max(0, sizes[first] + change - given)
    return {size.name: sizes[size.name] for size, _ in sets if sizes[size.name] != size.replicas}
