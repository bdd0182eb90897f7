"""Bindings of dependencies: whose they are, and who removes them."""

import pytest
from tests.controllers.changes import item
from tests.controllers.plane import CONFIG_MAPS, on_a_plane
from tests.growth import Work, counted, excess, grows, work

from karmada.api import names
from karmada.api.codec import from_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha2 import ObjectReference, ResourceBinding, ResourceBindingSpec
from karmada.controllers.dependencies import DependenciesDistributor, _by_object, _meaning, depended_by, needs
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource

BINDINGS = type_of(ResourceBinding)
PODS = GroupVersionResource("", "v1", "pods")
EVENTS = GroupVersionResource("", "v1", "events")
IDENTITY = "resourcebinding.karmada.io/permanent-id"


def binding(kind, name, metadata, **spec):
    resource = {"apiVersion": "v1", "kind": kind, "namespace": "default", "name": name}
    named = {"name": f"{name}-{kind.lower()}", "namespace": "default"}
    return {"metadata": named | metadata, "spec": {"resource": resource} | spec}


async def make_pod(plane, needed):
    """A bound Pod that needs a ConfigMap."""
    volume = {"name": "v", "configMap": {"name": needed}}
    spec = {"containers": [{"name": "c", "image": "nginx"}], "volumes": [volume]}
    await plane.client.resource(PODS).create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    marks = {"labels": {IDENTITY: "one"}}
    tree = binding("Pod", "web", marks, propagateDeps=True, clusters=[{"name": "m1"}])
    await plane.client.resource(BINDINGS).create(tree)


async def exists(collection, name):
    try:
        await collection.get(name, "default")
    except NotFound:
        return False
    return True


def test_a_requirer_that_is_missing_keeps_no_other_from_going():
    async def scenario(plane):
        collection = plane.client.resource(BINDINGS)
        held = {"labels": {IDENTITY: "one"}, "finalizers": ["karmada.io/binding-dependencies-distributor"]}
        await collection.create(binding("Pod", "web", held, propagateDeps=True))
        key = "resourcebinding.karmada.io/depended-by-" + names.binding_reference_key("default", "web-pod")
        requirers = [{"namespace": "default", "name": name} for name in ("web-pod", "missing-pod")]
        await collection.create(binding("ConfigMap", "settings", {"labels": {key: "one"}}, requiredBy=requirers))
        plane.start(DependenciesDistributor(plane.context, Templates(plane.context)).controller)
        await plane.clock.sleep(5)
        await collection.delete("web-pod", "default")
        await plane.clock.sleep(30)
        assert not await exists(collection, "web-pod")
        left = await collection.get("settings-configmap", "default")
        assert left["spec"]["requiredBy"] == [{"namespace": "default", "name": "missing-pod"}]

    on_a_plane(scenario)


def test_a_dependency_follows_as_soon_as_the_binding_of_its_predecessor_is_gone():
    async def scenario(plane):
        collection = plane.client.resource(BINDINGS)
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "earlier", "controller": True}
        held = {"ownerReferences": [owner], "finalizers": ["test/hold"]}
        await collection.create(binding("ConfigMap", "settings", held))
        made = await plane.client.resource(CONFIG_MAPS).create(
            {"metadata": {"name": "settings", "namespace": "default"}}
        )
        await make_pod(plane, "settings")
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        plane.start(DependenciesDistributor(plane.context, templates).controller)
        await plane.clock.sleep(600)
        await collection.delete("settings-configmap", "default")
        await collection.patch("settings-configmap", {"metadata": {"finalizers": None}}, "default")
        await plane.clock.sleep(1)
        found = await collection.get("settings-configmap", "default")
        assert found["spec"]["resource"]["uid"] == made["metadata"]["uid"]

    on_a_plane(scenario)


def test_a_dependency_that_is_there_when_its_kind_is_first_followed_goes_along():
    async def scenario(plane):
        await make_pod(plane, "settings")
        templates = Templates(plane.context)
        plane.start(DependenciesDistributor(plane.context, templates).controller)
        await plane.clock.sleep(5)
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        plane.supervisor.start("templates", templates.run)
        await plane.clock.sleep(30)
        assert await exists(plane.client.resource(BINDINGS), "settings-configmap")

    on_a_plane(scenario)


@pytest.mark.parametrize("count", [2_900, 3_600], ids=["that fit", "that do not fit"])
def test_dependencies_that_do_not_fit_into_their_record_are_not_tried_again(count):
    async def scenario(plane):
        references = [{"configMapRef": {"name": f"{number:04}"}} for number in range(count)]
        spec = {"containers": [{"name": "c", "image": "nginx", "envFrom": references}]}
        pod = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        await plane.client.resource(PODS).create(pod)
        marks = {"labels": {IDENTITY: "one"}}
        tree = binding("Pod", "web", marks, propagateDeps=True, clusters=[{"name": "m1"}])
        await plane.client.resource(BINDINGS).create(tree)
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        controller = DependenciesDistributor(plane.context, templates).controller
        plane.start(controller)
        await plane.clock.sleep(600)
        events = {event["reason"]: event["message"] for event in (await plane.client.resource(EVENTS).list()).items}
        found = await plane.client.resource(BINDINGS).get("web-pod", "default")
        assert controller.results["error"] == 0
        assert max(map(len, events.values())) <= 1024
        if count < 3_000:
            assert "SyncScheduleResultToDependenciesSucceed" in events
            assert RECORD in found["metadata"]["annotations"]
            return
        assert events["SyncScheduleResultToDependenciesFailed"].startswith(
            f"{count} dependencies are too many for the annotation {RECORD} "
        )
        assert controller.results["given_up"] == 1
        # With fewer it goes on.
        await plane.client.resource(PODS).delete("web", "default")
        spec["containers"][0]["envFrom"] = references[:1]
        await plane.client.resource(PODS).create(pod)
        await plane.client.resource(BINDINGS).patch("web-pod", {"spec": {"replicas": 1}}, "default")
        await plane.clock.sleep(60)
        found = await plane.client.resource(BINDINGS).get("web-pod", "default")
        assert '"name":"0000"' in found["metadata"]["annotations"][RECORD]

    on_a_plane(scenario)


RECORD = "resourcebinding.karmada.io/dependencies"


def bound(text, deps=True, **labels):
    noted = {RECORD: text} if text is not None else {}
    metadata = ObjectMeta(namespace="default", name="b", annotations=noted, labels=labels)
    resource = ObjectReference(api_version="v1", kind="Pod", namespace="default", name="web")
    return item(ResourceBinding(metadata=metadata, spec=ResourceBindingSpec(resource=resource, propagate_deps=deps)))


WRITTEN = (
    '[{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"settings"},'
    '{"apiVersion":"v1","kind":"Secret","namespace":"default","labelSelector":{}}]'
)


@pytest.mark.parametrize(
    ("text", "deps", "expected"),
    [
        (WRITTEN, True, {"v1|ConfigMap|default|settings", "v1|Secret|default|*"}),
        (WRITTEN, False, set()),
        ("null", True, set()),
        ("", True, set()),
        (None, True, set()),
        ("garbage", True, set()),
    ],
    ids=["wanted", "no longer wanted", "none", "empty", "no record", "unreadable"],
)
def test_bindings_are_found_by_what_they_recorded(text, deps, expected):
    assert set(needs(bound(text, deps))) == expected


def test_dependencies_are_found_by_who_requires_them():
    marks = {"resourcebinding.karmada.io/depended-by-x": "one", "app": "web"}
    assert depended_by(bound(None, **marks)) == ["resourcebinding.karmada.io/depended-by-x=one"]


def test_what_many_dependencies_mean_is_found_with_one_look_at_each() -> None:
    def measured(count: int) -> Work:
        dependencies = from_trees(
            [
                {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": f"s{number}"}
                for number in range(count)
            ]
        )
        bindings = [
            ResourceBinding(
                metadata=ObjectMeta(name=f"s{number}-secret", namespace="default"),
                spec=ResourceBindingSpec(
                    resource=ObjectReference(api_version="v1", kind="Secret", namespace="default", name=f"s{number}")
                ),
            )
            for number in range(count)
        ]

        def looked() -> int:
            meant = _by_object(dependencies)
            return sum(len(_meaning(one, meant)) for one in bindings)

        return work(looked)

    def from_trees(trees: list[dict[str, str]]) -> list[DependentObjectReference]:
        return [from_tree(tree, DependentObjectReference) for tree in counted(trees)]

    cost = excess(measured)
    assert cost is not None
    assert not grows(cost)


def test_dependencies_mean_what_they_name_and_what_they_may_select() -> None:
    one = DependentObjectReference(api_version="v1", kind="Secret", namespace="default", name="one")
    two = DependentObjectReference(api_version="v1", kind="Secret", namespace="default", name="two")
    some = DependentObjectReference(api_version="v1", kind="Secret", namespace="default")
    other = DependentObjectReference(api_version="v1", kind="ConfigMap", namespace="default", name="one")
    resource = ObjectReference(api_version="v1", kind="Secret", namespace="default", name="one")
    attached = ResourceBinding(
        metadata=ObjectMeta(name="one-secret", namespace="default"), spec=ResourceBindingSpec(resource=resource)
    )
    assert _meaning(attached, _by_object([some, one, two, other])) == [one, some]
