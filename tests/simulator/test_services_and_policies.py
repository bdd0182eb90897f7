"""Services, autoscalers, quotas, limits and disruption budgets in a member."""

import pytest
from tests.simulator.conftest import deployment, template

from karmada.machinery.errors import Forbidden, NotFound, TooManyRequests
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.simulator.workloads.kinds import (
    AUTOSCALERS,
    BUDGETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    PODS,
    QUOTAS,
    SERVICES,
)

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
LIMITS = GroupVersionResource("", "v1", "limitranges")
POD_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
NODE_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")


def named(kind, name, api="v1", **fields):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def service(name="web", **spec):
    return named(
        "Service", name, spec={"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    )


async def endpoints(actor):
    slices = [s for s in await actor.items(ENDPOINT_SLICES) if s["metadata"]["name"].startswith("web-")]
    return {e["addresses"][0]: e["conditions"]["ready"] for s in slices for e in s.get("endpoints") or ()}


async def evict(actor, name):
    body = named("Eviction", name, "policy/v1")
    await actor.client.transport.send(Request(Verb.CREATE, PODS, "default", name, "eviction", {}, body))


def test_endpoints_follow_the_pods_of_a_service(act):
    async def scene(actor):
        await actor.create(SERVICES, service())
        await actor.create(DEPLOYMENTS, deployment(replicas=2))
        await actor.clock.sleep(2)
        found = await endpoints(actor)
        assert sorted(found) == sorted(pod["status"]["podIP"] for pod in await actor.pods())
        assert set(found.values()) == {True}
        [one] = [s for s in await actor.items(ENDPOINT_SLICES) if s["metadata"]["name"].startswith("web-")]
        assert one["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
        assert one["endpoints"][0]["zone"] in ("a", "b", "c")
        await actor.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
        await actor.clock.sleep(2)
        assert await endpoints(actor) == {}
        await actor.delete(SERVICES, "web")
        await actor.clock.sleep(2)
        assert not [s for s in await actor.items(ENDPOINT_SLICES) if s["metadata"]["name"].startswith("web-")]

    act(scene)


def test_a_deleted_slice_is_made_again(act):
    async def scene(actor):
        await actor.create(SERVICES, service())
        await actor.create(DEPLOYMENTS, deployment(replicas=1))
        await actor.clock.sleep(2)
        found = await endpoints(actor)
        for one in await actor.items(ENDPOINT_SLICES):
            if one["metadata"]["name"].startswith("web-"):
                await actor.delete(ENDPOINT_SLICES, one["metadata"]["name"])
        await actor.clock.sleep(2)
        assert found
        assert await endpoints(actor) == found

    act(scene)


def test_pods_that_are_not_ready_are_endpoints_that_are_not_ready(act):
    async def scene(actor):
        await actor.create(SERVICES, service())
        await actor.create(DEPLOYMENTS, deployment(replicas=1, image="broken"))
        await actor.clock.sleep(2)
        assert list((await endpoints(actor)).values()) == [False]

    act(scene)


def test_a_service_has_endpoints_grouped_by_their_ports(act):
    async def scene(actor):
        await actor.create(SERVICES, service(ports=[{"port": 80, "targetPort": "http"}]))
        for name, image, port in (("a", "nginx", 1000), ("b", "nginx", 2000), ("c", "broken", 1000)):
            container = {"ports": [{"name": "http", "containerPort": port}]}
            await actor.create(
                PODS,
                named("Pod", name)
                | template({"app": "web"}, image, container=container)
                | {"metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}}},
            )
        await actor.clock.sleep(2)

        async def subsets():
            return [
                ([a["targetRef"]["name"] for a in s["addresses"]], s.get("notReadyAddresses", []), s["ports"])
                for s in (await actor.get(ENDPOINTS, "web"))["subsets"]
            ]

        found = await subsets()
        assert [(names, [a["targetRef"]["name"] for a in others]) for names, others, _ in found] == [
            (["a"], ["c"]),
            (["b"], []),
        ]
        assert [ports for *_, ports in found] == [[{"port": p, "protocol": "TCP"}] for p in (1000, 2000)]
        one = await actor.get(ENDPOINTS, "web")
        assert one["metadata"]["labels"] == {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        await actor.delete(ENDPOINTS, "web")
        await actor.clock.sleep(1)
        assert await subsets() == found
        settled = await actor.get(ENDPOINTS, "web")
        await actor.clock.sleep(60)
        assert await actor.get(ENDPOINTS, "web") == settled
        await actor.delete(SERVICES, "web")
        await actor.clock.sleep(1)
        assert not await actor.exists(ENDPOINTS, "web")

    act(scene)


def test_every_namespace_has_the_authority_of_its_cluster(act):
    async def scene(actor):
        await actor.create(NAMESPACES, {"metadata": {"name": "new"}})
        await actor.clock.sleep(1)
        authority = actor.member.server.identity.authority.certificate_pem.decode()

        async def published(namespace):
            return (await actor.get(CONFIG_MAPS, "kube-root-ca.crt", namespace))["data"]

        assert [await published(name) for name in ("default", "new")] == [{"ca.crt": authority}] * 2
        await actor.delete(CONFIG_MAPS, "kube-root-ca.crt")
        await actor.client.resource(CONFIG_MAPS).patch("kube-root-ca.crt", {"data": {"ca.crt": "", "b": "c"}}, "new")
        await actor.clock.sleep(1)
        assert [await published(name) for name in ("default", "new")] == [{"ca.crt": authority}] * 2
        await actor.delete(NAMESPACES, "new", "")
        await actor.clock.sleep(1)
        assert not await actor.exists(NAMESPACES, "new", "")

    act(scene)


def test_load_balancers_get_addresses_of_their_own(act):
    async def scene(actor):
        for name in ("a", "b"):
            await actor.create(SERVICES, service(name, type="LoadBalancer"))
        await actor.clock.sleep(1)
        given = [(await actor.status(SERVICES, name))["loadBalancer"]["ingress"][0]["ip"] for name in ("a", "b")]
        assert len(set(given)) == 2
        await actor.patch(SERVICES, "a", {"spec": {"type": "ClusterIP"}})
        await actor.clock.sleep(1)
        assert not (await actor.status(SERVICES, "a"))["loadBalancer"]

    act(scene)


def test_a_quota_counts_what_is_there_and_refuses_more(act):
    async def scene(actor):
        await actor.create(QUOTAS, named("ResourceQuota", "q", spec={"hard": {"pods": "2", "requests.cpu": "1"}}))
        await actor.clock.sleep(1)
        await actor.create(DEPLOYMENTS, deployment(replicas=3))
        await actor.clock.sleep(5)
        status = await actor.status(QUOTAS, "q")
        assert status["used"] == {"pods": "2", "requests.cpu": "200m"}
        assert (await actor.status(DEPLOYMENTS, "web"))["availableReplicas"] == 2
        await actor.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
        await actor.clock.sleep(5)
        assert (await actor.status(QUOTAS, "q"))["used"]["pods"] == "1"
        big = template({}, cpu="2")
        with pytest.raises(Forbidden, match="exceeded quota: q"):
            await actor.create(PODS, named("Pod", "big", spec=big["spec"]))

    act(scene)


def test_a_quota_lets_no_more_in_while_it_is_counted(act):
    """In whatever order things happen: a count is not written over one that admission has raised meanwhile."""

    async def scene(actor):
        await actor.create(QUOTAS, named("ResourceQuota", "q", spec={"hard": {"pods": "2"}}))
        await actor.until(lambda: actor.status(QUOTAS, "q"))
        await actor.create(DEPLOYMENTS, deployment(replicas=3))
        await actor.clock.sleep(5)
        return len(await actor.pods())

    assert {act(scene, seed=seed) for seed in range(40)} == {2}


def test_a_quota_counts_less_only_when_less_stays_there(act):
    """What admission has let in is counted before it can be seen."""

    async def scene(actor):
        await actor.create(QUOTAS, named("ResourceQuota", "q", spec={"hard": {"pods": "9"}}))
        await actor.clock.sleep(1)

        async def used():
            [quota] = await actor.items(QUOTAS)
            return quota["status"]["used"]["pods"]

        for count in ("1", "2"):
            await actor.client.resource(QUOTAS).patch(
                "q", {"status": {"used": {"pods": count}}}, "default", subresource="status"
            )
            await actor.clock.sleep(1.5)
            assert await used() == count
        await actor.clock.sleep(1)
        assert await used() == "0"

    act(scene)


def test_limit_ranges_fill_in_requests(act):
    async def scene(actor):
        limit = {"type": "Container", "defaultRequest": {"cpu": "50m"}}
        await actor.create(LIMITS, named("LimitRange", "l", spec={"limits": [limit]}))
        await actor.create(PODS, named("Pod", "p", spec={"containers": [{"name": "c", "image": "x"}]}))
        pod = await actor.get(PODS, "p")
        assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "50m"}

    act(scene)


def test_a_budget_allows_as_many_evictions_as_it_says(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=3))
        spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
        await actor.create(BUDGETS, named("PodDisruptionBudget", "b", "policy/v1", spec=spec))
        await actor.clock.sleep(2)
        status = await actor.status(BUDGETS, "b")
        assert (status["disruptionsAllowed"], status["currentHealthy"], status["expectedPods"]) == (1, 3, 3)
        actor.member.behaviour.ready_seconds = 30
        first, second, _ = [pod["metadata"]["name"] for pod in await actor.pods()]
        await evict(actor, first)
        await actor.clock.sleep(2)
        with pytest.raises(TooManyRequests, match="disruption budget"):
            await evict(actor, second)
        await actor.clock.sleep(40)
        await evict(actor, second)

    act(scene)


def test_an_autoscaler_follows_what_pods_use(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=2))
        metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 6,
            "metrics": [{"type": "Resource", "resource": metric}],
        }
        await actor.create(AUTOSCALERS, named("HorizontalPodAutoscaler", "web", "autoscaling/v2", spec=spec))
        actor.member.usage.set("default/web-*", cpu=100, memory=1)
        await actor.available("web", 4, 60)
        await actor.available("web", 6, 60)
        actor.member.usage.set("default/web-*", cpu=10, memory=1)
        await actor.clock.sleep(120)
        assert (await actor.status(DEPLOYMENTS, "web"))["replicas"] == 6
        await actor.available("web", 2, 600)
        assert (await actor.status(AUTOSCALERS, "web"))["currentMetrics"][0]["resource"]["current"] == {
            "averageUtilization": 10,
            "averageValue": "10m",
        }

    act(scene)


@pytest.mark.parametrize(("replicas", "within"), [(2, 3), (9, 6)])
def test_an_autoscaler_keeps_its_limits_while_no_pod_can_be_measured(act, replicas, within):
    async def scene(actor):
        actor.member.behaviour.ready_seconds = 3600
        await actor.create(DEPLOYMENTS, deployment(replicas=replicas))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 6}
        await actor.create(AUTOSCALERS, named("HorizontalPodAutoscaler", "web", "autoscaling/v2", spec=spec))
        await actor.clock.sleep(20)
        assert (await actor.get(DEPLOYMENTS, "web"))["spec"]["replicas"] == within
        assert (await actor.status(AUTOSCALERS, "web"))["desiredReplicas"] == within

    act(scene)


def test_metrics_show_what_pods_and_nodes_use(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=1))
        await actor.clock.sleep(1)
        actor.member.usage.set("default/web-*", cpu=250, memory=64 << 20)
        [pod] = (await actor.client.resource(POD_METRICS).list()).items
        assert pod["containers"][0]["usage"] == {"cpu": "250m", "memory": "65536Ki"}
        nodes = (await actor.client.resource(NODE_METRICS).list()).items
        assert sorted(node["usage"]["cpu"] for node in nodes) == ["0m", "0m", "250m"]
        with pytest.raises(NotFound, match=r'^pods "absent" not found'):
            await actor.client.resource(POD_METRICS).get("absent", "default")

    act(scene)
