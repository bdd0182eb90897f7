"""A bound Pod whose dependencies a test chooses, and the distributor that follows it."""

import dataclasses

from tests.controllers.plane import CONFIG_MAPS, on_a_plane

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.meta import LabelSelector
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.dependencies import DependenciesDistributor
from karmada.controllers.templates import Templates
from karmada.interpreter.model import Operation
from karmada.machinery.client import type_of
from karmada.machinery.transport import GroupVersionResource

BINDINGS = type_of(ResourceBinding)
PODS = GroupVersionResource("", "v1", "pods")
SECRETS = GroupVersionResource("", "v1", "secrets")
ID = "resourcebinding.karmada.io/permanent-id"
HOLDS = "karmada.io/binding-dependencies-distributor"
RECORD = "resourcebinding.karmada.io/dependencies"
SYNCED, FAILED = "SyncScheduleResultToDependenciesSucceed", "SyncScheduleResultToDependenciesFailed"


def depends(name="settings", kind="ConfigMap", api_version="v1", namespace="default", **selector):
    chosen = LabelSelector(match_labels=selector) if selector else None
    return DependentObjectReference(
        api_version=api_version, kind=kind, namespace=namespace, name=name, label_selector=chosen
    )


class Saying:
    """An interpreter that names the dependencies a test wants, or fails."""

    def __init__(self, *dependencies):
        self.found = dependencies
        self.kinds = {"Pod"}

    def enabled(self, kind, operation):
        return operation is Operation.DEPENDENCIES and kind.kind in self.kinds

    async def dependencies(self, resource):
        if isinstance(self.found, Exception):
            raise self.found
        return list(self.found)


class World:
    """A bound Pod and what it requires."""

    def __init__(self, plane, *dependencies):
        self.plane = plane
        self.saying = Saying(*dependencies)
        self.bindings = plane.client.resource(BINDINGS)
        plane.context = dataclasses.replace(plane.context, interpreter=self.saying)

    async def begin(self, *pods, clusters=("m1",), **spec):
        templates = Templates(self.plane.context)
        self.plane.supervisor.start("templates", templates.run)
        self.controller = DependenciesDistributor(self.plane.context, templates).controller
        self.plane.start(self.controller)
        for name in pods or ("web",):
            await self.pod(name, clusters, **spec)
        await self.plane.clock.sleep(3)

    async def template(self, name):
        body = {"metadata": {"name": name, "namespace": "default"}}
        body["spec"] = {"containers": [{"name": "c", "image": "nginx"}]}
        await self.plane.client.resource(PODS).create(body)

    async def pod(self, name, clusters=("m1",), kind="Pod", has_template=True, **spec):
        if kind == "Pod" and has_template:
            await self.template(name)
        resource = {"apiVersion": "v1", "kind": kind, "namespace": "default", "name": name}
        metadata = {"name": f"{name}-pod", "namespace": "default", "labels": {ID: name}}
        whole = {"resource": resource, "propagateDeps": True, "clusters": [{"name": c} for c in clusters]} | spec
        await self.bindings.create({"metadata": metadata, "spec": whole})

    async def make(self, *names, type_=CONFIG_MAPS, **marks):
        for name in names:
            metadata = {"name": name, "namespace": "default", "labels": marks}
            await self.plane.client.resource(type_).create({"metadata": metadata})

    async def patch(self, **spec):
        await self.bindings.patch("web-pod", {"spec": spec}, "default")
        await self.plane.clock.sleep(3)

    async def tree(self, name="web-pod"):
        return await self.bindings.get(name, "default")

    async def required(self, kind="configmap"):
        """By name of dependency, who requires it."""
        found = {}
        for tree in (await self.bindings.list()).items:
            if tree["metadata"]["name"].endswith(kind):
                requirers = sorted(one["name"] for one in tree["spec"].get("requiredBy") or ())
                found[tree["metadata"]["name"].removesuffix(f"-{kind}")] = requirers
        return found


def run(*dependencies):
    """Run a test on a control plane with an interpreter that names dependencies."""

    def decorate(test):
        def scenario():
            on_a_plane(lambda plane: test(World(plane, *dependencies)))

        scenario.__name__ = test.__name__
        return scenario

    return decorate
