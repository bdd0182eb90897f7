"""`karmadactl top`: CPU and memory in use, over all members; with `--history` also what was used lately."""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson

from karmada.cli import common_flags as common
from karmada.cli import top_history
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError, SeveralErrors
from karmada.cli.flags import Flag, Values, one_of
from karmada.cli.output.tabs import aligned
from karmada.cli.reading import chosen_clusters, in_time
from karmada.cli.session import Session
from karmada.machinery.errors import ApiError, NotFound, Unavailable
from karmada.machinery.transport import GroupVersionResource, Request, Verb

JSONObject = dict[str, Any]
PODS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
NODES = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")
CORE_NODES = GroupVersionResource("", "v1", "nodes")
MEBI = 1024 * 1024
Row = tuple[list[str], int, int, list[str]]
"""(cells before, CPU in thousandths, memory in bytes, cells after)."""


async def pods(session: Session, flags: Values) -> None:
    """Show pods."""
    if flags.all_namespaces and flags.arguments:
        raise CommandError("a resource cannot be retrieved by name across all namespaces")
    if flags.history:
        if flags.containers or flags.sum:
            raise CommandError("--history shows whole pods: leave out --containers and --sum")
        hub = session.hub(flags)
        namespace = "" if flags.all_namespaces else flags.namespace or hub.target.namespace
        found = await top_history.read(hub, PODS, namespace, flags)
        headings = ["NAMESPACE"] * flags.all_namespaces + ["NAME", "CLUSTER"]
        top_history.show(session, flags, headings, [top_history.lately(one, _names(one, flags)) for one in found])
        return
    rows, failures = await _collect(session, flags, _pods)
    before = ["NAMESPACE"] * flags.all_namespaces + ["POD"] * flags.containers + ["NAME", "CLUSTER"]
    _print(session, flags, before, [], rows)
    _finish(rows, failures, flags)


async def nodes(session: Session, flags: Values) -> None:
    """Show nodes."""
    if flags.history:
        found = await top_history.read(session.hub(flags), NODES, "", flags)
        rows_ = [top_history.lately(one, [one["metadata"]["name"], top_history.cluster_of(one)]) for one in found]
        top_history.show(session, flags, ["NAME", "CLUSTER"], rows_)
        return
    rows, failures = await _collect(session, flags, _nodes)
    _print(session, flags, ["NAME", "CLUSTER"], ["CPU%", "MEMORY%"], rows)
    _finish(rows, failures, flags)


async def clusters(session: Session, flags: Values) -> None:
    """Show clusters: their nodes together."""
    if flags.arguments:
        flags.clusters, flags.arguments = [*flags.clusters, *flags.arguments], []
    if flags.history:
        found = await top_history.read(session.hub(flags), NODES, "", flags)
        top_history.show(session, flags, ["CLUSTER"], top_history.by_cluster(found))
        return
    rows, failures = await _collect(session, flags, _cluster)
    _print(session, flags, ["CLUSTER"], ["CPU%", "MEMORY%"], rows)
    _finish(rows, failures, flags)


async def _collect(session: Session, flags: Values, look: Any) -> tuple[list[Row], list[str]]:
    if not all(flags.arguments):
        raise CommandError("resource name may not be empty")
    names = await chosen_clusters(session.hub(flags), flags.clusters)
    members = [session.member(flags, name) for name in names]
    results = await asyncio.gather(
        *(in_time(member, look(member, flags)) for member in members), return_exceptions=True
    )
    rows: list[Row] = []
    failures: list[str] = []
    for member, result in zip(members, results, strict=True):
        if isinstance(result, NotFound | Unavailable) and "not found" not in str(result).replace(
            "could not find the requested resource", ""
        ):
            failures.append(f"cluster({member.name}): metrics API not available")
        elif isinstance(result, ApiError | CommandError):
            failures.append(f"cluster({member.name}): {result}")
        elif isinstance(result, BaseException):
            raise result
        else:
            rows += result
    if flags.sort_by:
        rows.sort(key=lambda row: row[1 if flags.sort_by == "cpu" else 2], reverse=True)
    return rows, failures


async def _read(access: Access, type_: GroupVersionResource, namespace: str, flags: Values) -> list[JSONObject]:
    params = {"labelSelector": flags.selector} if flags.selector else {}
    if flags.arguments:
        return [
            orjson.loads(await access.transport.send(Request(Verb.GET, type_, namespace, name)))
            for name in flags.arguments
        ]
    answer = orjson.loads(await access.transport.send(Request(Verb.LIST, type_, namespace, params=params)))
    return list(answer.get("items") or ())


async def _pods(access: Access, flags: Values) -> list[Row]:
    namespace = "" if flags.all_namespaces else flags.namespace or access.target.namespace
    rows: list[Row] = []
    for item in await _read(access, PODS, namespace, flags):
        about = item["metadata"]
        front = [about.get("namespace", "")] * flags.all_namespaces
        containers = item.get("containers") or ()
        if flags.containers:
            for one in containers:
                cpu, memory = _usage(one)
                rows.append(([*front, about["name"], one["name"], access.name], cpu, memory, []))
            continue
        usages = [_usage(one) for one in containers]
        cpu, memory = sum(one[0] for one in usages), sum(one[1] for one in usages)
        rows.append(([*front, about["name"], access.name], cpu, memory, []))
    return rows


async def _cluster(access: Access, flags: Values) -> list[Row]:
    used, have = await _measured_nodes(access, flags)
    cpu, memory = _sum(_usage(item) for item in used)
    total = _sum(_usage({"usage": amounts}) for amounts in have.values())
    return [([access.name], cpu, memory, _shares((cpu, memory), total))]


async def _nodes(access: Access, flags: Values) -> list[Row]:
    used, have = await _measured_nodes(access, flags)
    rows: list[Row] = []
    for item in used:
        name = item["metadata"]["name"]
        cpu, memory = _usage(item)
        rows.append(([name, access.name], cpu, memory, _shares((cpu, memory), _usage({"usage": have.get(name) or {}}))))
    return rows


async def _measured_nodes(access: Access, flags: Values) -> tuple[list[JSONObject], dict[str, JSONObject]]:
    """What nodes use, and what they have by their names."""
    used = await _read(access, NODES, "", flags)
    answer = orjson.loads(await access.transport.send(Request(Verb.LIST, CORE_NODES)))
    part = "capacity" if flags.show_capacity else "allocatable"
    have = {node["metadata"]["name"]: (node.get("status") or {}).get(part) or {} for node in answer.get("items") or ()}
    return used, have


def _sum(amounts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    listed = list(amounts)
    return sum(one[0] for one in listed), sum(one[1] for one in listed)


def _shares(used: tuple[int, int], total: tuple[int, int]) -> list[str]:
    return [f"{100 * mine // all_}%" if all_ else "<unknown>" for mine, all_ in zip(used, total, strict=True)]


def _names(item: JSONObject, flags: Values) -> list[str]:
    about = item["metadata"]
    return [about.get("namespace", "")] * flags.all_namespaces + [about["name"], top_history.cluster_of(item)]


def _usage(item: JSONObject) -> tuple[int, int]:
    from karmada.api.quantity import Quantity

    usage = item.get("usage") or {}
    return Quantity.parse(usage.get("cpu", "0")).milli_value(), Quantity.parse(usage.get("memory", "0")).value()


def _print(session: Session, flags: Values, before: list[str], after: list[str], rows: list[Row]) -> None:
    if not rows:
        return
    lines = [] if flags.no_headers else [[*before, "CPU(cores)", *after[:1], "MEMORY(bytes)", *after[1:]]]
    for front, cpu, memory, shares in rows:
        lines.append([*front, f"{cpu}m", *shares[:1], f"{memory // MEBI}Mi", *shares[1:]])
    session.out.write(aligned(lines))
    if getattr(flags, "sum", False):
        total = [f"{sum(row[1] for row in rows)}m", f"{sum(row[2] for row in rows) // MEBI}Mi"]
        session.out.write(aligned([["", "________", "________"], ["", *total]]))


def _finish(rows: list[Row], failures: list[str], flags: Values) -> None:
    if failures:
        raise SeveralErrors(failures)
    if not rows:
        raise CommandError(
            "No resources found"
            if getattr(flags, "all_namespaces", True)
            else f"No resources found in {flags.namespace or 'default'} namespace."
        )


_SHARED = (
    *common.CONNECTION,
    common.SELECTOR,
    Flag("clusters", [], "Names of the members to ask; all if left out.", "C"),
    Flag("history", False, "Show what was used in the last half hour, as the metrics adapter saw it."),
    Flag("no-headers", False, "Leave out the line of headers."),
    Flag("sort-by", "", "cpu or memory.", check=one_of("", "cpu", "memory")),
    Flag("use-protocol-buffers", True, "Kept for scripts."),
)

COMMAND = Command(
    "top",
    "",
    "Show the use of CPU and memory in the members, as their metrics servers report it.",
    subcommands=(
        Command(
            "top pod",
            "[NAME | -l label]",
            "Show what pods use.",
            pods,
            (
                *_SHARED,
                common.NAMESPACE,
                common.ALL_NAMESPACES,
                common.FIELD_SELECTOR,
                Flag("containers", False, "Show containers."),
                Flag("sum", False, "Show the sum."),
            ),
            examples="karmadactl top pods -A --sort-by=memory",
            aliases=("pods", "po"),
        ),
        Command(
            "top node",
            "[NAME | -l label]",
            "Show what nodes use.",
            nodes,
            (*_SHARED, Flag("show-capacity", False, "Percentages of the capacity, not of what can be allocated.")),
            examples="karmadactl top nodes -C member1 --sort-by=cpu",
            aliases=("nodes", "no"),
        ),
        Command(
            "top cluster",
            "[NAME]",
            "Show what the nodes of each cluster use together.",
            clusters,
            (*_SHARED, Flag("show-capacity", False, "Percentages of the capacity, not of what can be allocated.")),
            examples="karmadactl top clusters --history",
            aliases=("clusters",),
        ),
    ),
)
