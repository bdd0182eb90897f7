"""Changes of the taints of clusters."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from karmada.api.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from karmada.cli.failures import CommandError

if TYPE_CHECKING:
    from karmada.machinery.resource import Resource
    from karmada.machinery.transport import JSONObject

Taint = dict[str, Any]
EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)


class Changes(NamedTuple):
    """What a command line asks for."""

    add: list[Taint]
    remove: list[Taint]
    """An empty effect means every effect of the key."""


def parse(words: list[str]) -> Changes:
    """Read `key=value:Effect` and `key:Effect-`, `key-`."""
    changes = Changes([], [])
    for word in words:
        if word.endswith("-"):
            changes.remove.append(_read(word[:-1], removed=True))
        else:
            changes.add.append(_read(word, removed=False))
    added = {_key(taint) for taint in changes.add}
    if len(added) != len(changes.add):
        raise CommandError("duplicated taints with the same key and effect")
    if added & {_key(taint) for taint in changes.remove}:
        raise CommandError("cannot add and remove the same taint")
    return changes


def _read(word: str, removed: bool) -> Taint:
    front, _, effect = word.partition(":")
    key, equals, value = front.partition("=")
    if not key or (not removed and not effect):
        raise CommandError(f"invalid taint spec: {word}: write key=value:NoSchedule, or key:NoSchedule- to remove it")
    if effect and effect not in EFFECTS:
        raise CommandError(f"invalid taint effect: {effect}, unsupported taint effect")
    from karmada.api.name_rules import label_key, label_value

    if problems := label_key(key) + label_value(value):
        raise CommandError(f"invalid taint spec: {word}, {'; '.join(problems)}")
    taint: Taint = {"key": key, "effect": effect}
    return {**taint, "value": value} if equals else taint


def change(cluster: str, taints: list[Taint], wanted: Changes, overwrite: bool) -> tuple[list[Taint], str]:
    """The new taints and the word for what happened; raises `CommandError`."""
    present = {_key(taint) for taint in taints}
    clashes = [taint["key"] for taint in wanted.add if _key(taint) in present]
    if clashes and not overwrite:
        keys = ",".join(clashes)
        raise CommandError(
            f"cluster {cluster} already has {keys} taint(s) with same effect(s) and --overwrite is false"
        )
    missing = [taint for taint in wanted.remove if not any(_removes(taint, other) for other in taints)]
    if missing:
        raise CommandError("\n".join(f'taint "{_spelled(taint)}" not found' for taint in missing))
    added = {_key(taint) for taint in wanted.add}
    kept = [
        taint
        for taint in taints
        if _key(taint) not in added and not any(_removes(gone, taint) for gone in wanted.remove)
    ]
    if wanted.add and (clashes or wanted.remove):
        word = "modified"
    else:
        word = "tainted" if wanted.add else "untainted"
    return kept + wanted.add, word


def taints_of(cluster: "JSONObject") -> list[Taint]:
    """The taints of a cluster."""
    return list((cluster.get("spec") or {}).get("taints") or ())


async def write(
    clusters: "Resource[JSONObject]", seen: "JSONObject", decide: Callable[[list[Taint]], list[Taint]]
) -> None:
    """Give a cluster the taints that `decide` makes of its own, decided again if it changed in the meantime.

    Its status is written all the time, and components taint it too: a conflict is nothing to bother people with.
    """
    from karmada.machinery.committer import Absent, Committer

    def decided(cluster: "JSONObject") -> "JSONObject":
        return cluster | {"spec": (cluster.get("spec") or {}) | {"taints": decide(taints_of(cluster))}}

    if isinstance(await Committer(clusters).commit(seen, decided), Absent):
        raise CommandError(f"cluster {seen['metadata']['name']} was deleted meanwhile")


def _removes(gone: Taint, taint: Taint) -> bool:
    return bool(gone["key"] == taint["key"] and gone["effect"] in ("", taint["effect"]))


def _key(taint: Taint) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _spelled(taint: Taint) -> str:
    return f"{taint['key']}:{taint['effect']}" if taint["effect"] else str(taint["key"])
