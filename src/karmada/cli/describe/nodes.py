"""Nodes, with what runs on them and how much of them is taken."""

from collections.abc import Iterable
from typing import Any

from karmada.api.quantity import Quantity
from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
Amounts = dict[str, Quantity]
_ROLE = "node-role.kubernetes.io/"
_NOTHING = Quantity.parse("0")
_USUAL = ("cpu", "memory", "ephemeral-storage")
_SYSTEM = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
)


def around(item: JSONObject) -> dict[str, Query]:
    """The lease of a node and the pods on it."""
    name = item["metadata"]["name"]
    running = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
    return {
        "lease": Query("coordination.k8s.io", "v1", "leases", "kube-node-lease", name),
        "pods": Query("", "v1", "pods", fields=running),
    }


def node(page: Page, item: JSONObject, related: Related) -> None:
    """A Node."""
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    page.field(0, "Name", about["name"])
    roles = sorted(label.removeprefix(_ROLE) for label in about.get("labels") or {} if label.startswith(_ROLE))
    page.field(0, "Roles", ",".join(roles) or "<none>")
    metadata.marks(page, item)
    page.field(0, "CreationTimestamp", metadata.time(about.get("creationTimestamp")))
    taints = sorted(spec.get("taints") or (), key=lambda one: (one.get("effect", ""), one["key"]))
    page.several(0, "Taints", [_taint(one) for one in taints])
    page.field(0, "Unschedulable", str(spec.get("unschedulable", False)).lower())
    _lease(page, about["name"], related["lease"])
    _conditions(page, status.get("conditions") or [])
    page.line(0, "Addresses:")
    for one in status.get("addresses") or ():
        page.field(1, one["type"], one["address"])
    for title in ("capacity", "allocatable"):
        if status.get(title):
            page.line(0, f"{title.title()}:")
            for name, amount in sorted(status[title].items()):
                page.field(1, name, amount)
    page.line(0, "System Info:")
    for title, key in _SYSTEM:
        page.field(1, title, (status.get("nodeInfo") or {}).get(key, ""))
    for title, value in (
        ("PodCIDR", spec.get("podCIDR")),
        ("PodCIDRs", ",".join(spec.get("podCIDRs") or ())),
        ("ProviderID", spec.get("providerID")),
    ):
        if value:
            page.field(0, title, value)
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    _allocated(page, {name: Quantity.parse(amount) for name, amount in allocatable.items()}, related["pods"])


def _taint(one: JSONObject) -> str:
    value = f"={one['value']}" if one.get("value") else ""
    return f"{one['key']}{value}:{one.get('effect', '')}"


def _lease(page: Page, name: str, found: list[JSONObject]) -> None:
    if not found:
        page.field(0, "Lease", f'Failed to get lease: leases.coordination.k8s.io "{name}" not found')
        return
    spec = found[0].get("spec") or {}
    page.line(0, "Lease:")
    page.field(1, "HolderIdentity", spec.get("holderIdentity", "<unset>"))
    page.field(1, "AcquireTime", metadata.time(spec.get("acquireTime")))
    page.field(1, "RenewTime", metadata.time(spec.get("renewTime")))


def _conditions(page: Page, found: list[JSONObject]) -> None:
    if not found:
        return
    page.line(0, "Conditions:")
    page.line(1, "Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
    page.line(1, "----", "------", "-----------------", "------------------", "------", "-------")
    for one in found:
        moments = [metadata.time_or_zero(one.get(key)) for key in ("lastHeartbeatTime", "lastTransitionTime")]
        cells = (one.get("type", ""), one.get("status", ""), *moments, one.get("reason", ""))
        page.line(1, *(f"{cell} " for cell in cells), one.get("message", ""))


def _allocated(page: Page, allocatable: Amounts, pods: list[JSONObject]) -> None:
    requests, limits = ({one["metadata"]["uid"]: _of_pod(one, kind) for one in pods} for kind in ("requests", "limits"))
    page.field(0, "Non-terminated Pods", f"({len(pods)} in total)")
    head = ("CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age")
    page.line(1, "Namespace", "Name", "", *head)
    page.line(1, "---------", "----", "", *("-" * len(cell) for cell in head))
    for pod in pods:
        about = pod["metadata"]
        shares = [
            _share(of[about["uid"]].get(name, _NOTHING), allocatable.get(name, _NOTHING), name)
            for name in ("cpu", "memory")
            for of in (requests, limits)
        ]
        page.line(1, about["namespace"], about["name"], "", *shares, metadata.ago(about["creationTimestamp"]))
    page.line(0, "Allocated resources:")
    page.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)")
    requested, capped = _sum(requests.values()), _sum(limits.values())
    page.table(1, ("Resource", "Requests", "Limits"), [])
    huge = sorted(name for name in allocatable if name.startswith("hugepages-"))
    for name in (*_USUAL, *huge):
        have = allocatable.get(name, _NOTHING)
        shares = [_share(amounts.get(name, _NOTHING), have, name) for amounts in (requested, capped)]
        page.line(1, name, *shares)
    for name in sorted(set(allocatable) - {*_USUAL, *huge, "pods"}):
        page.line(1, name, requested.get(name, _NOTHING), capped.get(name, _NOTHING))


def _share(amount: Quantity, have: Quantity, name: str) -> str:
    part, whole = (amount.milli_value(), have.milli_value()) if name == "cpu" else (amount.value(), have.value())
    return f"{amount} ({100 * part // whole if whole else 0}%)"


def _of_pod(pod: JSONObject, kind: str) -> Amounts:
    """What a pod takes: its containers, or the most that one of its init containers takes beside the sidecars."""
    spec = pod.get("spec") or {}
    total = _sum(_of_container(one, kind) for one in spec.get("containers") or ())
    sidecars: Amounts = {}
    most: Amounts = {}
    for one in spec.get("initContainers") or ():
        amounts = _of_container(one, kind)
        if one.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, amounts])
            total = _sum([total, amounts])
            amounts = sidecars
        else:
            amounts = _sum([sidecars, amounts])
        most = {name: max(most.get(name, _NOTHING), amounts.get(name, _NOTHING)) for name in most | amounts}
    total = {name: max(total.get(name, _NOTHING), most.get(name, _NOTHING)) for name in total | most}
    overhead = {name: Quantity.parse(amount) for name, amount in (spec.get("overhead") or {}).items()}
    return _sum([total, {name: amount for name, amount in overhead.items() if kind == "requests" or name in total}])


def _of_container(one: JSONObject, kind: str) -> Amounts:
    found = (one.get("resources") or {}).get(kind) or {}
    return {name: Quantity.parse(amount) for name, amount in found.items()}


def _sum(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            total[name] = total[name] + amount if name in total else amount
    return total
