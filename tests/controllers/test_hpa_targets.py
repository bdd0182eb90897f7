"""Which workload a FederatedHPA scales, in which clusters, and why it cannot."""

import pytest
from tests.controllers.autoscaling import AUTOSCALERS, CLAIM, CPU, DEPLOYMENTS, PERIOD, USAGES, scaling
from tests.controllers.plane import CRDS, unloadable

from karmada.machinery.errors import ServerError, Unavailable
from karmada.machinery.transport import GroupVersionResource

CONTROLLERS = GroupVersionResource("", "v1", "replicationcontrollers")
WIDGETS = GroupVersionResource("example.io", "v1", "widgets")
WIDGETS_DEFINITION = {
    "metadata": {"name": "widgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "subresources": {
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
                },
            }
        ],
    },
}
MISSING = "FailedGetScaleTargetRef", "get the target reference object"
UNBOUND = "FailedGetBinding", "get the binding by scaleTargetRef"
NOWHERE = "FailedGetTargetClusters", "get the target clusters from binding"
NO_ANSWER = "failed to get replicas in any of clusters, possibly because all of clusters are not ready"


def target(kind, version):
    return {"apiVersion": version, "kind": kind, "name": "web"}


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (target("Widget", "example.io/v1"), "Widget"),
        (target("Namespace", "v1"), "spec.scaleTargetRef.kind: Namespace is cluster-scoped"),
        (target("Deployment", "apps/v1"), 'deployments.apps "web" not found'),
        (target("ReplicationController", "v1"), 'replicationcontrollers "web" not found'),
    ],
    ids=["not served", "cluster-scoped", "absent", "absent in the core group"],
)
def test_a_target_that_is_none_is_named(reference, why):
    async def scenario(world):
        await world.autoscale(CPU, target=reference)
        await world.sleep(1)
        status, reason, text = await world.condition("AbleToScale")
        assert (status, reason) == ("False", MISSING[0])
        assert text.startswith(f"the HPA controller was unable to {MISSING[1]}: ")
        assert why in text
        assert await world.events() == {(MISSING[0], text.partition(": ")[2])}
        assert set(world.plane.context.metrics.autoscale.by) == {("error",)}

    scaling(scenario)


@pytest.mark.parametrize(
    ("labels", "clusters", "resource", "reason", "why"),
    [
        ({}, ["m1"], {}, UNBOUND, "target resource has no label"),
        ({"app": "web"}, ["m1"], {}, UNBOUND, "no label of policy permanent-id found"),
        (CLAIM, None, {}, UNBOUND, "length of binding list is zero"),
        (CLAIM, ["m1"], {"uid": "another"}, UNBOUND, "no binding matches the target resource"),
        (CLAIM, [], {}, NOWHERE, "binding has no schedulable clusters"),
        (CLAIM, ["m1", "m9"], {}, NOWHERE, 'clusters.cluster.karmada.io "m9" not found'),
    ],
    ids=["no label", "no claim", "no binding", "binding of another", "no clusters", "a cluster that left"],
)
def test_a_template_that_is_scheduled_nowhere_is_named_until_it_is(labels, clusters, resource, reason, why):
    async def scenario(world):
        await world.members["m1"].run(1)
        await world.template(1, labels=labels)
        if clusters is not None:
            await world.bind(*clusters)
            await world.rebind({"spec": {"resource": resource}})
        await world.autoscale(CPU)
        await world.sleep(1)
        text = f"the HPA controller was unable to {reason[1]}: {why}"
        assert await world.condition("AbleToScale") == ("False", reason[0], text)
        assert {message for _, message in await world.events()} == {why}
        await world.client.resource(DEPLOYMENTS).patch("web", {"metadata": {"labels": CLAIM}}, "default")
        if clusters is None:
            await world.bind("m1")
        uid = (await world.client.resource(DEPLOYMENTS).get("web", "default"))["metadata"]["uid"]
        await world.rebind({"spec": {"resource": {"uid": uid}, "clusters": [{"name": "m1"}]}})
        await world.sleep(PERIOD)
        assert (await world.condition("AbleToScale"))[0] == "True"
        assert await world.replicas() > 1

    scaling(scenario)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("not now", "not now", "not now"),
        ("not now", "never", "m1: not now; m2: never"),
        (None, "never", None),
    ],
    ids=["for one reason", "for two reasons", "partly"],
)
def test_members_that_give_no_answer_are_named_and_the_others_suffice(first, second, why):
    async def scenario(world):
        for name, text in (("m1", first), ("m2", second)):
            await world.members[name].run(1)
            if text:
                world.members[name].transport.answers["v1/pods"] = Unavailable(text)
        await world.template(2)
        await world.bind("m1", "m2")
        await world.autoscale(CPU)
        await world.sleep(1)
        if why is None:
            assert await world.replicas() == 4
        else:
            text = f"the HPA controller was unable to get the target's current scale: {NO_ANSWER} ({why})"
            assert await world.condition("AbleToScale") == ("False", "FailedGetScale", text)
            assert await world.events() == {("FailedGetScale", f"{NO_ANSWER} ({why})")}

    scaling(scenario)


def test_clusters_that_are_not_ready_or_do_not_have_the_workload_are_left_out():
    async def scenario(world):
        await world.template(1)
        await world.bind("m1", "m2")
        await world.plane.condition("m1", "Ready", "False")
        await world.autoscale(CPU)
        await world.sleep(1)
        text = f"the HPA controller was unable to get the target's current scale: {NO_ANSWER}"
        assert await world.condition("AbleToScale") == ("False", "FailedGetScale", text)
        assert await world.condition("ClustersRead") is None
        await world.members["m1"].run(1)
        await world.sleep(PERIOD)
        assert (await world.condition("AbleToScale"))[0] == "False"
        await world.plane.condition("m1", "Ready", "True")
        await world.sleep(PERIOD)
        assert (await world.condition("AbleToScale"))[0] == "True"
        assert await world.condition("ClustersRead") is None

    scaling(scenario)


def test_an_autoscaler_that_is_alone_asks_for_its_own_pods_only():
    async def scenario(world):
        transport = world.members["m1"].transport
        await world.members["m1"].run(1, usage="50m")
        await world.members["m1"].pod("other", {"app": "other"})
        await world.template(1)
        await world.bind("m1")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert {("v1/pods", "app=web"), (USAGES, "app=web")} <= set(transport.asked)
        assert (USAGES, {"labelSelector": "app=web"}) in transport.params, "metrics are not served in pages"
        await world.autoscale(CPU, name="other", target=target("Deployment", "apps/v1") | {"name": "other"})
        transport.params.clear()
        await world.sleep(PERIOD * 2)
        assert {one for one in transport.asked if one[0] in ("v1/pods", USAGES)} == {("v1/pods", ""), (USAGES, "")}
        assert await world.replicas() == 1
        assert (await world.condition("ScalingActive"))[0] == "True"

    scaling(scenario)


def scale_of(selector):
    return {"spec": {"replicas": 1}, "status": {"replicas": 1, "selector": selector}}


def test_a_member_that_says_its_workload_selects_all_pods_stops_no_autoscaler_of_others():
    async def scenario(world):
        world.members.pulled = {"m1"}
        answers = world.members["m1"].transport.answers
        answers["apps/v1/deployments/bait/scale"] = scale_of("!zzz")
        await world.members["m1"].pod("bait-0", {"app": "bait"})
        world.members["m1"].use({"bait-0": "50m"})
        await world.template(1, name="bait")
        await world.bind("m1", name="bait")
        await world.autoscale(CPU, name="bait", target=target("Deployment", "apps/v1") | {"name": "bait"})
        await world.members["m2"].run(1)
        await world.template(1)
        await world.bind("m2")
        await world.autoscale(CPU, maximum=2)
        await world.sleep(PERIOD * 2)
        assert (await world.condition("ScalingActive"))[:2] == ("True", "ValidMetricFound")
        assert await world.replicas() == 2

    scaling(scenario)


def test_two_autoscalers_of_one_target_without_a_selector_wait_until_one_of_them_goes():
    async def scenario(world):
        await world.client.resource(CRDS).create(WIDGETS_DEFINITION)
        await world.sleep(1)
        metadata = {"name": "web", "namespace": "default", "labels": CLAIM}
        await world.client.resource(WIDGETS).create({"metadata": metadata, "spec": {"replicas": 1}})
        world.members["m1"].transport.answers["example.io/v1/widgets/web/scale"] = scale_of("app=web")
        await world.members["m1"].run(1)
        await world.bind("m1", kind="widget")
        of_web = target("Widget", "example.io/v1")
        await world.autoscale(CPU, target=of_web, maximum=1)
        await world.autoscale(CPU, target=of_web, maximum=1, name="other")
        await world.autoscale(CPU, target=target("Deployment", "apps/v1"), maximum=1, name="of-another-kind")
        await world.sleep(PERIOD)
        text = "pods of Widget web are controlled by multiple HPAs: [default/other default/web]"
        assert await world.condition("ScalingActive") == ("False", "AmbiguousSelector", text)
        await world.client.resource(AUTOSCALERS).delete("other", "default")
        await world.sleep(PERIOD)
        assert (await world.condition("ScalingActive"))[0] == "True"

    scaling(scenario)


def test_each_member_is_asked_for_metrics_by_its_own_selector():
    async def scenario(world):
        world.members.pulled = {"m1"}
        await world.members["m1"].run(1)
        await world.members["m2"].run(1)
        world.members["m1"].transport.answers["apps/v1/deployments/web/scale"] = scale_of("!zzz")
        await world.template(2)
        await world.bind("m1", "m2")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert [one[1] for one in world.members["m1"].transport.asked if one[0] == USAGES] == ["!zzz"]
        assert [one[1] for one in world.members["m2"].transport.asked if one[0] == USAGES] == ["app=web"]

    scaling(scenario)


@pytest.mark.parametrize(
    ("answer", "unread"),
    [
        ({"spec": {"replicas": 1}, "status": {"replicas": 1, "selector": "app=web"}}, None),
        ({"spec": {"replicas": 1}, "status": {"replicas": 1}}, "selector is required"),
        ({"spec": {"replicas": 1}, "status": {"selector": "app in"}}, "unable to parse requirement"),
        ({"spec": {"replicas": "one"}}, "the server's answer cannot be read"),
    ],
    ids=["selected", "no selector", "no such selector", "no number"],
)
def test_the_scale_of_other_kinds_is_asked_for(answer, unread):
    async def scenario(world):
        first, second = world.members["m1"], world.members["m2"]
        await first.pod("web-0", {"app": "web"})
        first.use({"web-0": "100m"})
        await second.pod("web-0", {"app": "web"})
        second.use({"web-0": "100m"})
        scale = "v1/replicationcontrollers/web/scale"
        good = {"spec": {"replicas": 1}, "status": {"replicas": 1, "selector": "app=web"}}
        world.hub.answers[scale] = {"spec": {"replicas": 2}}
        first.transport.answers[scale], second.transport.answers[scale] = answer, good
        container = {"name": "app", "image": "nginx"}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        metadata = {"name": "web", "namespace": "default", "labels": CLAIM}
        spec = {"replicas": 2, "selector": {"app": "web"}, "template": template}
        await world.client.resource(CONTROLLERS).create({"metadata": metadata, "spec": spec})
        await world.bind("m1", "m2", kind="replicationcontroller")
        await world.autoscale(CPU, target=target("ReplicationController", "v1"), maximum=2)
        await world.sleep(1)
        found = await world.condition("ClustersRead")
        if unread is None:
            assert found is None
            assert (await world.status())["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == 100
        else:
            assert found[0] == "False"
            assert unread in found[2].removeprefix("m1: ")
        world.hub.answers[scale] = ServerError("no quorum")
        await world.sleep(PERIOD)
        text = "the HPA controller was unable to get the target's current scale: no quorum"
        assert await world.condition("AbleToScale") == ("False", "FailedGetScale", text)

    scaling(scenario)


def test_a_member_that_is_not_followed_is_asked_for_the_scale_of_a_deployment():
    async def scenario(world):
        world.members.pulled = {"m1"}
        transport = world.members["m1"].transport
        await world.members["m1"].run(1)
        world.members["m1"].transport.answers["apps/v1/deployments/web/scale"] = {
            "spec": {"replicas": 1},
            "status": {"replicas": 1, "selector": "app=web"},
        }
        await world.template(1)
        await world.bind("m1")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.replicas() == 2
        assert ("apps/v1/deployments/web/scale", "") in transport.asked
        assert "apps/v1/deployments" not in {path for path, _ in transport.asked}

    scaling(scenario)


def test_a_member_whose_workloads_cannot_be_loaded_is_named():
    async def scenario(world):
        unloadable(world.members["m2"].loading, DEPLOYMENTS)
        await world.members["m1"].run(1)
        await world.members["m2"].run(1)
        await world.template(2)
        await world.bind("m1", "m2")
        await world.autoscale(CPU)
        await world.sleep(PERIOD)
        assert await world.condition("ClustersRead") == (
            ("False", "ClusterNotReadable", "m2: its deployments cannot be loaded")
        )
        assert "apps/v1/deployments/web/scale" not in {path for path, _ in world.members["m1"].transport.asked}

    scaling(scenario)
