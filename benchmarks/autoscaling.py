"""FederatedHPA: what a thousand autoscalers over five clusters cost in one interval, in-memory API servers included.

Members and the control plane's API server are in this process, on direct transports: their share of the work (lists of
pods, status writes) is part of the figure.
"""

import asyncio
import resource
import time
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.result import Result
from karmada.aggregated.cluster_type import cluster_type
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.api.names import binding_name
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.composition import Recorders
from karmada.controllers.context import Context
from karmada.controllers.federated_hpa import AutoscalerOptions, FederatedHPAController
from karmada.controllers.templates import Templates
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, rfc3339
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Transport
from karmada.membership.connections import PushMembers
from karmada.simulator.metrics import MetricsApi
from karmada.simulator.usage import Usage

AUTOSCALERS, CLUSTERS, PODS, NAMESPACES = 1000, 5, 10, 20
"""Pods are those of one autoscaler in all clusters together."""
PERIOD = 15.0
JSONObject = dict[str, Any]
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POD = GroupVersionResource("", "v1", "pods")
NAMESPACE = GroupVersionResource("", "v1", "namespaces")
CLUSTER = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
HPAS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "federatedhpas")


def run() -> list[Result]:
    """Measure once."""
    share, grown = asyncio.run(_measure())
    what = f"{AUTOSCALERS} FederatedHPAs over {CLUSTERS} clusters, {AUTOSCALERS * PODS} pods"
    return [
        Result(f"{what}, every {PERIOD:g} s", share * 100, "% of a core", target=50),
        Result(f"{what}, on top", grown, "MB", target=150),
    ]


async def _measure() -> tuple[float, float]:
    async with AsyncExitStack() as stack:
        members = {}
        for number in range(1, CLUSTERS + 1):
            options = ApiServerOptions(apis=[MetricsApi(Usage()).local])
            members[f"m{number}"] = await stack.enter_async_context(ApiServer(options))
        hub = await stack.enter_async_context(ApiServer(ApiServerOptions(apis=[LocalApi([cluster_type()])])))
        client = Client(hub.direct(ADMIN), field_manager="benchmark")
        await _furnish(client, {name: Client(server.direct(ADMIN)) for name, server in members.items()})

        async def open_member(cluster: Cluster) -> Transport:
            return members[cluster.metadata.name].direct(ADMIN)

        supervisor = await stack.enter_async_context(Supervisor(REAL))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        informers = InformerFactory(client, supervisor)
        recorders = Recorders(client, supervisor, REAL)
        context = Context(client, informers, recorders, DEFAULTS, CustomizableInterpreter(post=_nobody), REAL)
        templates = Templates(context)
        connections = PushMembers(open_member, REAL)
        stack.push_async_callback(connections.close)
        hpa = FederatedHPAController(context, connections, templates, AutoscalerOptions(period=PERIOD))
        supervisor.start("templates", templates.run)
        supervisor.start("hpa", hpa.controller.run)
        await _until_scaled(client)
        await asyncio.sleep(PERIOD)
        used = time.process_time()
        await asyncio.sleep(2 * PERIOD)
        share = (time.process_time() - used) / (2 * PERIOD)
        return share, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


async def _until_scaled(client: Client) -> None:
    while True:
        found = (await client.resource(HPAS).list()).items
        if sum(bool((one.get("status") or {}).get("currentMetrics")) for one in found) == AUTOSCALERS:
            return
        await asyncio.sleep(0.5)


async def _furnish(hub: Client, members: dict[str, Client]) -> None:
    for crd in definitions():
        await hub.resource(CRDS).create(crd)
    await asyncio.sleep(1)
    for name in members:
        await hub.resource(CLUSTER).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
        ready = {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": rfc3339(0)}
        await hub.resource(CLUSTER).patch(name, {"status": {"conditions": [ready]}}, subresource="status")
    for number in range(NAMESPACES):
        for client in (hub, *members.values()):
            await client.resource(NAMESPACE).create({"metadata": {"name": f"n{number}"}})
    for number in range(AUTOSCALERS):
        await _autoscaler(hub, members, f"w{number}", f"n{number % NAMESPACES}")


async def _autoscaler(hub: Client, members: dict[str, Client], name: str, namespace: str) -> None:
    claim = {"propagationpolicy.karmada.io/permanent-id": name}
    template = await hub.resource(DEPLOYMENTS).create(_deployment(name, namespace, PODS, claim))
    shares = [{"name": member, "replicas": PODS // CLUSTERS} for member in members]
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name}
    binding = {
        "metadata": {"name": binding_name("Deployment", name), "namespace": namespace, "labels": claim},
        "spec": {"resource": about | {"uid": template["metadata"]["uid"]}, "clusters": shares},
    }
    await hub.resource(BINDINGS).create(binding)
    target = {"type": "Utilization", "averageUtilization": 50}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "maxReplicas": 20,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    await hub.resource(HPAS).create({"metadata": {"name": name, "namespace": namespace}, "spec": spec})
    for client in members.values():
        managed = {"karmada.io/managed": "true"}
        await client.resource(DEPLOYMENTS).create(_deployment(name, namespace, PODS // CLUSTERS, managed))
        for number in range(PODS // CLUSTERS):
            await client.resource(POD).create(
                {
                    "metadata": {"name": f"{name}-{number}", "namespace": namespace, "labels": {"app": name}},
                    "spec": _SPEC,
                }
            )
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(0)}
            status = {"phase": "Running", "startTime": rfc3339(0), "conditions": [ready]}
            await client.resource(POD).patch(f"{name}-{number}", {"status": status}, namespace, subresource="status")


_SPEC = {"containers": [{"name": "app", "image": "nginx:1.25", "resources": {"requests": {"cpu": "100m"}}}]}


def _deployment(name: str, namespace: str, replicas: int, labels: dict[str, str]) -> JSONObject:
    app = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": app}}
    spec["template"] = {"metadata": {"labels": app}, "spec": _SPEC}
    return {"metadata": {"name": name, "namespace": namespace, "labels": {**app, **labels}}, "spec": spec}


async def _nobody(endpoint: object, body: bytes) -> bytes:
    raise AssertionError("no webhook is configured")
