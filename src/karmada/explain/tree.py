"""Everything that belongs to a workload, from its policy to its pods: nodes with health and age. No I/O."""

from dataclasses import dataclass, field
from typing import Any

from karmada.api.counting import counted
from karmada.api.duration import human
from karmada.api.meta import find_condition
from karmada.api.timestamps import parse
from karmada.api.work.v1alpha2 import AggregatedStatusItem, TargetCluster
from karmada.explain.why.facts import Binding, Facts, MemberFacts
from karmada.explain.why.matching import policy_link

JSONObject = dict[str, Any]


@dataclass(slots=True)
class Node:
    """One object of the tree."""

    kind: str
    name: str
    health: str = ""
    mood: str = ""
    """ok, bad or wait."""
    age: str = ""
    children: "list[Node]" = field(default_factory=list)

    def data(self) -> JSONObject:
        """For programs."""
        fields: JSONObject = {
            "kind": self.kind,
            "name": self.name,
            "health": self.health or None,
            "age": self.age or None,
        }
        return fields | {"children": [child.data() for child in self.children]}


def tree(facts: Facts, template: JSONObject, now: float) -> Node:
    """Everything that belongs to a template; ages are those at `now`."""
    root = _object(template, now)
    matched = policy_link(facts, template)
    if matched.broken:
        root.children.append(Node("PropagationPolicy", "-", matched.text, "bad"))
        return root
    kind, _, name = str(matched.data.get("matched", "")).partition(" ")
    root.children.append(Node(kind, name))
    if facts.binding is None:
        root.children.append(Node("ResourceBinding", "-", "does not exist yet", "wait"))
        return root
    root.children.append(_binding(facts, facts.binding, now))
    return root


def _binding(facts: Facts, binding: Binding, now: float) -> Node:
    states = {one.type: one.status for one in binding.status.conditions}
    good = [name for name in ("Scheduled", "FullyApplied") if states.get(name) == "True"]
    health = ", ".join(good) if len(good) == 2 else f"not {'Scheduled' if 'Scheduled' not in good else 'FullyApplied'}"
    node = Node(
        binding.kind,
        binding.metadata.name,
        health,
        "ok" if len(good) == 2 else "bad",
        _ago(binding.metadata.creation_timestamp, now),
    )
    reported = {item.cluster_name: item for item in binding.status.aggregated_status}
    for target in sorted(binding.spec.clusters, key=lambda target: str(target.name)):
        node.children.append(_cluster(facts, target, reported.get(target.name), now))
    return node


def _cluster(facts: Facts, target: TargetCluster, item: AggregatedStatusItem | None, now: float) -> Node:
    share = counted(target.replicas, "replica") if target.replicas else ""
    node = Node("Cluster", target.name, share)
    work = facts.works.get(target.name)
    if work is None:
        node.children.append(Node("Work", "-", "does not exist yet", "wait"))
        return node
    applied = find_condition(work.status.conditions, "Applied")
    fine = applied is not None and applied.status == "True"
    state = "Applied" if fine else (applied.message if applied is not None else "not delivered yet")
    parcel = Node(
        "Work", work.metadata.name, state, "ok" if fine else "bad", _ago(work.metadata.creation_timestamp, now)
    )
    node.children.append(parcel)
    member = facts.members.get(target.name)
    if member is None or member.error:
        parcel.children.append(Node(facts.kind.kind, facts.name, member.error if member else "unknown", "bad"))
    elif member.object is None:
        parcel.children.append(Node(facts.kind.kind, facts.name, "is not there", "bad"))
    else:
        parcel.children.append(_member(member, member.object, item, now))
    return node


def _member(member: MemberFacts, held: JSONObject, item: AggregatedStatusItem | None, now: float) -> Node:
    copy = _object(held, now)
    if item is not None and item.health and copy.mood != "bad":
        copy.health = f"{item.health}" + (f", {copy.health}" if copy.health else "")
        copy.mood = {"Healthy": "ok", "Unhealthy": "bad"}.get(item.health, "wait")
    owners: dict[str, Node] = {}
    for pod in member.pods:
        owner: JSONObject = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
        above = copy
        if owner and owner.get("name") != copy.name:
            above = owners.setdefault(owner["name"], Node(owner.get("kind", ""), owner["name"]))
        above.children.append(_pod(pod, now))
    copy.children += owners.values()
    return copy


def _object(item: JSONObject, now: float) -> Node:
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    health, mood = "", ""
    if isinstance(spec.get("replicas"), int):
        ready = status.get("readyReplicas", 0)
        health, mood = f"{ready}/{spec['replicas']} ready", "ok" if ready >= spec["replicas"] else "wait"
    if about.get("deletionTimestamp"):
        health, mood = "being deleted", "wait"
    name = f"{about['namespace']}/{about['name']}" if about.get("namespace") else about["name"]
    return Node(item.get("kind", ""), name, health, mood, _ago(about.get("creationTimestamp"), now))


def _pod(pod: JSONObject, now: float) -> Node:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    reasons = [((one.get("state") or {}).get("waiting") or {}).get("reason") for one in containers]
    state = next((reason for reason in reasons if reason), status.get("phase", "Unknown"))
    ready = all(one.get("ready") for one in containers) and bool(containers)
    mood = "ok" if ready or state == "Succeeded" else "bad" if state not in ("Pending", "ContainerCreating") else "wait"
    return Node("Pod", pod["metadata"]["name"], state, mood, _ago(pod["metadata"].get("creationTimestamp"), now))


def _ago(moment: object, now: float) -> str:
    if not moment:
        return ""
    return human(now - parse(str(moment)).timestamp())
