"""A Deployment that runs in two members, whose pods and metrics are what a test says, and its FederatedHPA."""

import contextlib

import orjson
from tests.controllers.plane import Interfering, on_a_plane, server

from karmada.apiserver.server import ADMIN
from karmada.controllers.federated_hpa import AutoscalerOptions, FederatedHPAController
from karmada.controllers.templates import Templates
from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.connections import connection_of

AUTOSCALERS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "federatedhpas")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
EVENTS = GroupVersionResource("", "v1", "events")
PODS = GroupVersionResource("", "v1", "pods")
CLAIM = {"propagationpolicy.karmada.io/permanent-id": "p"}
DEFAULT = AutoscalerOptions()
PERIOD = 15
USAGES, CUSTOM = "metrics.k8s.io/v1beta1/pods", "custom.metrics.k8s.io/v1beta2"
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


class Answering:
    """A transport on which a test answers some requests itself, with an object or an error, or acts before they are."""

    def __init__(self, inner, clock):
        self.inner = inner
        self._clock = clock
        self.answers = {}
        self.params = []
        """Requests, each as its path and its parameters."""
        self.times = []
        """When they came."""

    @property
    def asked(self):
        """Requests, each as its path and its selector."""
        return [(where, params.get("labelSelector", "")) for where, params in self.params]

    async def send(self, request):
        type_ = request.resource
        parts = (type_.group, type_.version, type_.resource, request.name, request.subresource)
        where = "/".join(part for part in parts if part)
        self.params.append((where, dict(request.params)))
        self.times.append(self._clock.now())
        if where not in self.answers:
            return await self.inner.send(request)
        answer = self.answers[where]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            await answer()
            return await self.inner.send(request)
        return orjson.dumps(answer)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class MeteredMember:
    """A member with pods of one workload."""

    def __init__(self, name, hosting, clock):
        self.client = Client(hosting.direct(ADMIN))
        self.loading = Interfering(hosting.direct(ADMIN), clock)
        self.transport = Answering(self.loading, clock)
        self.connection = connection_of(name, self.transport, clock)

    async def run(self, replicas, usage="100m"):
        """Have the Deployment run, each of its pods with a usage."""
        deployments = self.client.resource(DEPLOYMENTS)
        await deployments.create(deployment(replicas, {"karmada.io/managed": "true"}))
        await deployments.patch("web", {"status": {"replicas": replicas}}, "default", subresource="status")
        for number in range(replicas):
            await self.pod(f"web-{number}", {"app": "web"})
        self.use({f"web-{number}": usage for number in range(replicas)})

    async def pod(self, name, labels, phase="Running", ready="True", **more):
        """Have a pod that has run for long."""
        container = {"name": "app", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}
        metadata = {"name": name, "namespace": "default", "labels": labels}
        await self.client.resource(PODS).create({"metadata": metadata, "spec": {"containers": [container]}})
        past = "2023-11-14T10:00:00Z"
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": past}
        status = {"phase": phase, "startTime": past, "conditions": [condition, *more.get("conditions", ())]}
        await self.client.resource(PODS).patch(name, {"status": status}, "default", subresource="status")

    def use(self, usages, **containers):
        """Have a metrics server that says what pods use."""
        items = [
            {
                "metadata": {"name": pod},
                "timestamp": "2023-11-14T22:00:00Z",
                "window": "30s",
                "containers": [{"name": "app", "usage": {"cpu": usage}}, *containers.get(pod, ())],
            }
            for pod, usage in usages.items()
        ]
        self.transport.answers[USAGES] = {"metadata": {}, "items": items}


class Fleet(dict):
    """`Members` by name."""

    pulled = frozenset()
    """Those in pull mode, which the control plane does not follow."""

    def concerns(self, cluster):
        return cluster.metadata.name not in self.pulled

    async def connect(self, cluster):
        return self[cluster.metadata.name].connection


class Scaling:
    """What a test has."""

    def __init__(self, plane, members, controller):
        self.plane = plane
        self.client = plane.client
        self.hub = plane.transport
        """What the controller asks the control plane for."""
        self.members = members
        self.controller = controller
        self.sleep = plane.clock.sleep

    async def bind(self, *clusters, name="web", kind="deployment", **spec):
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
        scheduled = [{"name": cluster, "replicas": 1} for cluster in clusters]
        metadata = {"name": f"{name}-{kind}", "namespace": "default"}
        await self.client.resource(BINDINGS).create(
            {"metadata": metadata, "spec": {"resource": reference, "clusters": scheduled, **spec}}
        )

    async def rebind(self, patch):
        await self.client.resource(BINDINGS).patch("web-deployment", patch, "default")

    async def template(self, replicas, labels=CLAIM, name="web"):
        await self.client.resource(DEPLOYMENTS).create(deployment(replicas, labels, name))

    async def autoscale(self, *metrics, name="web", target=None, minimum=1, maximum=20, **spec):
        target = target or {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "maxReplicas": maximum, **spec}
        if minimum is not None:
            spec["minReplicas"] = minimum
        if metrics:
            spec["metrics"] = list(metrics)
        await self.client.resource(AUTOSCALERS).create(
            {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        )

    async def status(self):
        return (await self.client.resource(AUTOSCALERS).get("web", "default")).get("status") or {}

    async def condition(self, type_):
        found = {one["type"]: one for one in (await self.status()).get("conditions") or ()}
        return (found[type_]["status"], found[type_]["reason"], found[type_]["message"]) if type_ in found else None

    async def events(self):
        """Pairs of reason and message."""
        found = (await self.client.resource(EVENTS).list(Scope("default"))).items
        return {(event["reason"], event["message"]) for event in found}

    async def replicas(self):
        return (await self.client.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"]


def deployment(replicas, labels, name="web"):
    """A Deployment of pods that are labelled with its name and ask for a tenth of a CPU."""
    container = {"name": "app", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def scaling(test, options=DEFAULT, prepare=lambda plane: None):
    """Run a test with members m1 and m2, and the controller started."""

    async def scenario(plane):
        async with contextlib.AsyncExitStack() as stack:
            members, readable = Fleet(), Fleet()
            plane.transport = Answering(plane.transport, plane.clock)
            plane.begin(plane.supervisor)
            prepare(plane)
            for name in ("m1", "m2"):
                hosting = await stack.enter_async_context(server(plane.clock))
                members[name] = MeteredMember(name, hosting, plane.clock)
                readable[name] = members[name]
                stack.push_async_callback(members[name].connection.close)
                await plane.cluster(name)
            templates = Templates(plane.context)
            plane.supervisor.start("templates", templates.run)
            controller = FederatedHPAController(plane.context, members, templates, options, readable).controller
            plane.start(controller)
            await plane.clock.sleep(1)
            await test(Scaling(plane, members, controller))

    on_a_plane(scenario)
