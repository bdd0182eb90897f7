"""`karmadactl tree`: everything that belongs to a workload, from its policies to its pods."""

import time
from dataclasses import dataclass, field
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.why import one_wanted
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import width
from karmada.cli.reading import namespace_of
from karmada.cli.session import Session

JSONObject = dict[str, Any]
_COLOURS = {"ok": 32, "bad": 31, "wait": 33}


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
        said: JSONObject = {
            "kind": self.kind,
            "name": self.name,
            "health": self.health or None,
            "age": self.age or None,
        }
        return said | {"children": [child.data() for child in self.children]}


async def run(session: Session, flags: Values) -> None:
    """Show the tree."""
    wanted = await one_wanted(session, flags)
    hub = session.hub(flags)
    from karmada.cli.why.facts import read

    namespace = namespace_of(hub, flags, wanted.kind)
    facts = await read(session, flags, wanted.kind, namespace, wanted.name)
    if facts.template is None:
        where = f" in namespace {namespace}" if namespace else ""
        raise CommandError(f"there is no {wanted.kind.kind} {wanted.name}{where}")
    root = _root(facts)
    if flags.output == "json":
        import orjson

        session.print(orjson.dumps(root.data(), option=orjson.OPT_INDENT_2).decode())
        return
    if flags.output:
        raise CommandError("--output is json")
    lines = list(_lines(root))
    wide = max(width(text) for text, _ in lines)
    for text, node in lines:
        health = f"{node.health:<24}"
        if session.colours and node.mood:
            health = f"\033[{_COLOURS[node.mood]}m{health}\033[0m"
        session.print(f"{text}{' ' * (wide - width(text))}   {health} {node.age}".rstrip())


def _root(facts: Any) -> Node:
    from karmada.cli.why.matching import policy_link

    template = facts.template
    root = _object(template)
    matched = policy_link(facts, template)
    if matched.broken:
        root.children.append(Node("PropagationPolicy", "-", matched.said, "bad"))
        return root
    kind, _, name = str(matched.data.get("matched", "")).partition(" ")
    root.children.append(Node(kind, name))
    if facts.binding is None:
        root.children.append(Node("ResourceBinding", "-", "does not exist yet", "wait"))
        return root
    root.children.append(_binding(facts))
    return root


def _binding(facts: Any) -> Node:
    binding = facts.binding
    states = {one.type: one.status for one in binding.status.conditions}
    good = [name for name in ("Scheduled", "FullyApplied") if states.get(name) == "True"]
    health = ", ".join(good) if len(good) == 2 else f"not {'Scheduled' if 'Scheduled' not in good else 'FullyApplied'}"
    node = Node(
        binding.kind,
        binding.metadata.name,
        health,
        "ok" if len(good) == 2 else "bad",
        _ago(binding.metadata.creation_timestamp),
    )
    reported = {item.cluster_name: item for item in binding.status.aggregated_status}
    for target in sorted(binding.spec.clusters, key=lambda target: str(target.name)):
        node.children.append(_cluster(facts, target, reported.get(target.name)))
    return node


def _cluster(facts: Any, target: Any, item: Any) -> Node:
    share = f"{target.replicas} replicas" if target.replicas else ""
    node = Node("Cluster", target.name, share)
    work = facts.works.get(target.name)
    if work is None:
        node.children.append(Node("Work", "-", "does not exist yet", "wait"))
        return node
    applied = next((one for one in work.status.conditions if one.type == "Applied"), None)
    fine = applied is not None and applied.status == "True"
    state = "Applied" if fine else (applied.message if applied is not None else "not delivered yet")
    parcel = Node("Work", work.metadata.name, state, "ok" if fine else "bad", _ago(work.metadata.creation_timestamp))
    node.children.append(parcel)
    member = facts.members.get(target.name)
    if member is None or member.error:
        parcel.children.append(Node(facts.kind.kind, facts.name, member.error if member else "unknown", "bad"))
    elif member.object is None:
        parcel.children.append(Node(facts.kind.kind, facts.name, "is not there", "bad"))
    else:
        parcel.children.append(_member(member, item))
    return node


def _member(member: Any, item: Any) -> Node:
    copy = _object(member.object)
    if item is not None and item.health and copy.mood != "bad":
        copy.health = f"{item.health}" + (f", {copy.health}" if copy.health else "")
        copy.mood = {"Healthy": "ok", "Unhealthy": "bad"}.get(item.health, "wait")
    owners: dict[str, Node] = {}
    for pod in member.pods:
        owner: JSONObject = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
        above = copy
        if owner and owner.get("name") != copy.name:
            above = owners.setdefault(owner["name"], Node(owner.get("kind", ""), owner["name"]))
        above.children.append(_pod(pod))
    copy.children += owners.values()
    return copy


def _object(item: JSONObject) -> Node:
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    health, mood = "", ""
    if isinstance(spec.get("replicas"), int):
        ready = status.get("readyReplicas", 0)
        health, mood = f"{ready}/{spec['replicas']} ready", "ok" if ready >= spec["replicas"] else "wait"
    if about.get("deletionTimestamp"):
        health, mood = "being deleted", "wait"
    name = f"{about['namespace']}/{about['name']}" if about.get("namespace") else about["name"]
    return Node(item.get("kind", ""), name, health, mood, _ago(about.get("creationTimestamp")))


def _pod(pod: JSONObject) -> Node:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    reasons = [((one.get("state") or {}).get("waiting") or {}).get("reason") for one in containers]
    state = next((reason for reason in reasons if reason), status.get("phase", "Unknown"))
    ready = all(one.get("ready") for one in containers) and bool(containers)
    mood = "ok" if ready or state == "Succeeded" else "bad" if state not in ("Pending", "ContainerCreating") else "wait"
    return Node("Pod", pod["metadata"]["name"], state, mood, _ago(pod["metadata"].get("creationTimestamp")))


def _lines(node: Node, prefix: str = "", branch: str = "", below: str = "") -> Any:
    yield f"{prefix}{branch}{node.kind} {node.name}", node
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        yield from _lines(child, prefix + below, "└─ " if last else "├─ ", "   " if last else "│  ")


def _ago(moment: Any) -> str:
    if not moment:
        return ""
    from karmada.api.duration import human
    from karmada.api.timestamps import parse

    return human(time.time() - parse(str(moment)).timestamp())


COMMAND = Command(
    "tree",
    "KIND/NAME [-n NAMESPACE]",
    "Show everything that belongs to a workload as a tree, with health and age: its policy, its binding, and for\n"
    "every cluster the Work, the object there and its pods.",
    run,
    (*common.CONNECTION, common.NAMESPACE, Flag("output", "", "json.", "o")),
    examples="karmadactl tree deployment/nginx",
)
