"""The Node objects of a member, as their kubelets would register them."""

from collections.abc import Callable, Iterator

from karmada.api.annotations import SIMULATED_PROCESSES, SIMULATED_RUNTIME
from karmada.machinery.clock import rfc3339
from karmada.machinery.transport import JSONObject
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.simulator.workloads.node import healthy

VERSION = "v1.36.0"


def usual_address(number: int) -> str:
    """The address of a node, from 0 on, where nothing listens."""
    return f"10.0.{(number + 1) >> 8 & 255}.{(number + 1) & 255}"


def nodes_of(spec: MemberSpec, now: float, address: Callable[[int], str] = usual_address) -> Iterator[JSONObject]:
    """All nodes of a member."""
    number = 0
    for pool in spec.node_pools:
        names = pool.nodes or [_name(spec, pool, index) for index in range(1, pool.count + 1)]
        for name in names:
            yield _node(spec, pool, name, number, now, address(number))
            number += 1


def running(spec: MemberSpec) -> dict[str, str]:
    """The annotation of nodes that names where pods really run, if anywhere."""
    return {SIMULATED_PROCESSES: ",".join(spec.processes.namespaces)} if spec.processes.namespaces else {}


def _name(spec: MemberSpec, pool: NodePool, index: int) -> str:
    return f"{spec.name}-{pool.name}-{index}" if len(spec.node_pools) > 1 else f"{spec.name}-node-{index}"


def _node(spec: MemberSpec, pool: NodePool, name: str, number: int, now: float, address: str) -> JSONObject:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    if spec.topology_labels:
        labels["kubernetes.io/arch"] = "amd64"
        zone = pool.zone or (spec.zones[number % len(spec.zones)] if spec.zones else "")
        topology = {"topology.kubernetes.io/region": spec.region, "topology.kubernetes.io/zone": zone}
        labels |= {label: value for label, value in topology.items() if value}
    capacity = {"cpu": pool.cpu, "memory": pool.memory, "pods": str(pool.pods), **pool.resources}
    node: JSONObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | pool.labels},
        "spec": {"podCIDR": spec.pod_cidr, "podCIDRs": [spec.pod_cidr]} if spec.pod_cidr else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": VERSION,
                "kubeProxyVersion": "",
                "containerRuntimeVersion": f"{SIMULATED_RUNTIME}1",
                "kernelVersion": "simulated",
                "osImage": "simulated",
                "machineID": name,
                "systemUUID": name,
                "bootID": name,
            },
        },
    }
    if annotations := pool.annotations | running(spec):
        node["metadata"]["annotations"] = annotations
    if pool.taints:
        node["spec"]["taints"] = [
            {"key": taint.key, "effect": taint.effect} | ({"value": taint.value} if taint.value else {})
            for taint in pool.taints
        ]
    node["status"]["conditions"] = [
        condition | {"lastHeartbeatTime": rfc3339(now)} for condition in healthy({"status": {}}, now)
    ]
    return node
