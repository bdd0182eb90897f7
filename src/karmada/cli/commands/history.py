"""`karmadactl history`: when and why workloads moved between clusters, from the events and tasks of their bindings."""

from collections.abc import Iterable

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.flags import Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject

EVENTS = GroupVersionResource("", "v1", "events")
BINDINGS = {
    "ResourceBinding": GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings"),
    "ClusterResourceBinding": GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings"),
}
MOVES = ("ScheduleBinding", "DescheduleBinding", "EvictWorkloadFromCluster", "EvictionUndone", "MoveWaits", "Failback")
"""How the reasons of events about moves begin."""
Move = tuple[str, str, str, str]


async def run(session: Session, flags: Values) -> None:
    """Show moves, the oldest first."""
    hub = session.hub(flags)
    names = await _named(hub, flags)
    moves = await _moves(hub, flags)
    chosen = sorted(move for move in moves if not names or move[1] in names or move[1].partition(" ")[0] in names)
    if not chosen:
        session.print("No moves are known: events are kept for an hour unless the API server is configured otherwise.")
        return
    session.out.write(aligned([["TIME", "RESOURCE", "REASON", "MESSAGE"], *map(list, chosen)]))


async def _moves(hub: Access, flags: Values) -> list[Move]:
    namespace = "" if flags.all_namespaces else flags.namespace or hub.target.namespace
    found: list[Move] = []
    resources: dict[tuple[str, str, str], str] = {}
    for kind, type_ in BINDINGS.items():
        scope = Scope(namespace) if kind == "ResourceBinding" else Scope()
        for binding in (await hub.client.resource(type_).list(scope)).items:
            about = binding["metadata"]
            name = _spelled(binding["spec"]["resource"])
            resources[kind, about.get("namespace", ""), about["name"]] = name
            found += _pending(name, binding["spec"].get("gracefulEvictionTasks") or ())
    for event in (await hub.client.resource(EVENTS).list()).items:
        about = event["involvedObject"]
        of = resources.get((about["kind"], about.get("namespace", ""), about["name"]))
        if of is not None and event["reason"].startswith(MOVES):
            found.append((_time(event), of, event["reason"], event.get("message", "")))
    return found


def _pending(name: str, tasks: Iterable[JSONObject]) -> list[Move]:
    """Evictions under way."""
    return [
        (
            task.get("creationTimestamp") or "now",
            name,
            task["reason"],
            f"is leaving {task['fromCluster']} ({task['producer']}). {task.get('message', '')}".strip(),
        )
        for task in tasks
    ]


async def _named(hub: Access, flags: Values) -> set[str]:
    """The resources asked for; a kind alone stands for all of them."""
    namespace = flags.namespace or hub.target.namespace
    return {
        _spelled({"kind": one.kind.kind, "name": one.name, "namespace": namespace if one.kind.namespaced else ""})
        if one.name
        else one.kind.kind
        for one in (await hub.kinds.wanted(flags.arguments) if flags.arguments else ())
    }


def _spelled(resource: JSONObject) -> str:
    space = f"{resource['namespace']}/" if resource.get("namespace") else ""
    return f"{resource['kind']} {space}{resource['name']}"


def _time(event: JSONObject) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


COMMAND = Command(
    "history",
    "[KIND/NAME...]",
    "Show when and why workloads moved between clusters, the oldest move first.\n\n"
    "Read from the events of bindings, which an API server keeps for an hour, and from the evictions under way.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.ALL_NAMESPACES,
    ),
    examples="""
karmadactl history
karmadactl history deployment/web
karmadactl history -A
""",
)
