"""Services across clusters in one process: exports, imports and MultiClusterServices, until endpoints arrive."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.federation.conftest import Federation, federated

from karmada.api.feature_gates import DEFAULTS
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SERVICES = GroupVersionResource("", "v1", "services")
EVENTS = GroupVersionResource("", "v1", "events")
SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
IMPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceimports")
EXPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceexports")
MCS = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusterservices")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")


def policy(name: str, kind: str, clusters: list[str], api_version: str, selects: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": selects}],
            "placement": {"clusterAffinity": {"clusterNames": clusters}},
        },
    }


def endpoint_slice(address: str, name: str = "web-abcde", service: str = "web", **more: Any) -> dict[str, Any]:
    managed = "endpointslice-controller.k8s.io"
    marks = {"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": managed}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "generateName": "web-", "namespace": "default", "labels": marks} | more,
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def service(name: str = "web") -> dict[str, Any]:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


def multi_cluster(providers: list[str], consumers: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.karmada.io/v1alpha1",
        "kind": "MultiClusterService",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "types": ["CrossCluster"],
            "providerClusters": [{"name": name} for name in providers],
            "consumerClusters": [{"name": name} for name in consumers],
        },
    }


async def addresses(federation: Federation, member: str, of: str) -> dict[str, list[str]]:
    """Addresses behind a Service in a member, by slice."""
    scope = Scope("default", f"kubernetes.io/service-name={of}")
    found = (await federation.members[member].resource(SLICES).list(scope)).items
    return {
        one["metadata"]["name"]: [address for endpoint in one["endpoints"] for address in endpoint["addresses"]]
        for one in found
    }


async def become(federation: Federation, member: str, of: str, wanted: dict[str, list[str]]) -> None:
    async def check() -> bool:
        found = await addresses(federation, member, of)
        assert found == wanted, found
        return True

    await federation.happens(check)


async def become_free_of_works(federation: Federation, *kinds: str) -> None:
    async def check() -> bool:
        works = (await federation.hub.resource(WORKS).list()).items
        found = [w["metadata"] for w in works if w["spec"]["workload"]["manifests"][0]["kind"] in kinds]
        assert not found, found
        return True

    await federation.happens(check)


async def reasons(federation: Federation, about: str) -> set[str]:
    found = (await federation.hub.resource(EVENTS).list(Scope("default"))).items
    return {event["reason"] for event in found if event["involvedObject"]["kind"] == about}


@asynccontextmanager
async def without_errors(caplog: Any) -> AsyncIterator[None]:
    """Nothing that these controllers do may fail."""
    caplog.set_level(logging.WARNING)
    yield
    ours = ("service-", "endpointslice-", "multiclusterservice-")
    bad = [r.getMessage() for r in caplog.records if any(r.getMessage().startswith(name) for name in ours)]
    assert not bad


async def with_kinds(federation: Federation) -> None:
    for kind in ("serviceexports", "serviceimports"):
        crd = await federation.hub.resource(CRDS).get(f"{kind}.multicluster.x-k8s.io")
        for member in federation.members.values():
            metadata = {"name": crd["metadata"]["name"]}
            await member.resource(CRDS).create({**crd, "metadata": metadata, "status": {}})


@pytest.fixture
async def gated() -> AsyncIterator[Federation]:
    async with federated(DEFAULTS.with_overrides({"MultiClusterService": True})) as made:
        yield made


async def test_an_exported_service_is_imported_elsewhere_and_follows_its_endpoints(
    federation: Federation, caplog: Any
) -> None:
    async with without_errors(caplog):
        await with_kinds(federation)
        multicluster = "multicluster.x-k8s.io/v1alpha1"
        metadata = {"name": "web", "namespace": "default"}
        provider = federation.members["member1"].resource(SLICES)
        await provider.create(endpoint_slice("10.1.0.1"))
        await federation.apply(
            policy("export", "ServiceExport", ["member1"], multicluster),
            {"apiVersion": multicluster, "kind": "ServiceExport", "metadata": metadata},
            policy("import", "ServiceImport", ["member2"], multicluster),
            {
                "apiVersion": multicluster,
                "kind": "ServiceImport",
                "metadata": metadata,
                "spec": {"type": "ClusterSetIP", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
            },
        )
        await become(federation, "member2", "derived-web", {"imported-member1-web-abcde": ["10.1.0.1"]})
        derived = await federation.arrives("member2", SERVICES, "derived-web")
        assert [port["port"] for port in derived["spec"]["ports"]] == [80]

        async def says_who_exports() -> bool:
            found = await federation.hub.resource(IMPORTS).get("web", "default")
            return bool(found["status"]["clusters"] == [{"cluster": "member1"}])

        await federation.happens(says_who_exports)

        async def derived_is_an_event() -> bool:
            return "SyncDerivedServiceSucceed" in await reasons(federation, "ServiceImport")

        await federation.happens(derived_is_an_event)

        endpoints = [{"addresses": [address], "conditions": {"ready": True}} for address in ("10.1.0.1", "10.1.0.2")]
        await provider.patch("web-abcde", {"endpoints": endpoints}, "default")
        await become(federation, "member2", "derived-web", {"imported-member1-web-abcde": ["10.1.0.1", "10.1.0.2"]})

        await federation.hub.resource(EXPORTS).delete("web", "default")
        await become(federation, "member2", "derived-web", {})
        await federation.hub.resource(IMPORTS).delete("web", "default")
        await federation.leaves("member2", SERVICES, "derived-web")
        await become_free_of_works(federation, "EndpointSlice")


async def test_endpoints_of_providers_reach_consumers_and_not_themselves(gated: Federation, caplog: Any) -> None:
    async with without_errors(caplog):
        for number, member in enumerate(gated.members.values(), 1):
            tree = endpoint_slice(f"10.{number}.0.1", name=f"web-{number}")
            await member.resource(SLICES).create(tree)
        await gated.apply(service(), multi_cluster(["member1", "member2"], ["member2"]))
        await become(gated, "member2", "web", {"web-2": ["10.2.0.1"], "member1-web-1": ["10.1.0.1"]})
        await gated.arrives("member1", SERVICES, "web")
        await gated.arrives("member2", SERVICES, "web")

        async def conditions() -> dict[str, str]:
            found = await gated.hub.resource(MCS).get("web", "default")
            assert found["metadata"]["finalizers"] == ["karmada.io/multiclusterservice-controller"]
            known = {c["type"]: c["reason"] for c in found["status"]["conditions"]}
            assert len(known) == 2
            return known

        assert await gated.happens(conditions) == {
            "ServiceApplied": "ServiceAppliedSucceed",
            "EndpointSliceDispatched": "EndpointSliceDispatchedSucceed",
        }
        brought = await gated.members["member2"].resource(SLICES).get("member1-web-1", "default")
        assert brought["metadata"]["annotations"]["endpointslice.karmada.io/provision-cluster"] == "member1"

        turned = {"providerClusters": [{"name": "member2"}], "consumerClusters": [{"name": "member1"}]}
        await gated.hub.resource(MCS).patch("web", {"spec": turned}, "default")
        await become(gated, "member1", "web", {"web-1": ["10.1.0.1"], "member2-web-2": ["10.2.0.1"]})
        await become(gated, "member2", "web", {"web-2": ["10.2.0.1"]})

        unknown = {"providerClusters": [{"name": "member2"}, {"name": "nowhere"}]}
        await gated.hub.resource(MCS).patch("web", {"spec": unknown}, "default")

        async def reported() -> bool:
            return "ClusterNotFound" in await reasons(gated, "MultiClusterService")

        await gated.happens(reported)
        await gated.hub.resource(MCS).delete("web", "default")
        await become(gated, "member1", "web", {"web-1": ["10.1.0.1"]})
        template = await gated.hub.resource(SERVICES).get("web", "default")
        assert "resourcetemplate.karmada.io/claimed-by" not in (template["metadata"].get("labels") or {})
        await become_free_of_works(gated, "MultiClusterService", "EndpointSlice")


async def test_a_missing_service_is_named_and_its_arrival_is_enough(gated: Federation, caplog: Any) -> None:
    async with without_errors(caplog):
        await gated.apply(multi_cluster(["member1"], ["member2"]))

        async def applied(status: str) -> Any:
            found = await gated.hub.resource(MCS).get("web", "default")
            [condition] = [c for c in found["status"]["conditions"] if c["type"] == "ServiceApplied"]
            return condition if condition["status"] == status else None

        condition = await gated.happens(lambda: applied("False"))
        assert condition["message"] == 'services "web" not found'
        await gated.apply(service())
        await gated.happens(lambda: applied("True"))
        await gated.arrives("member2", SERVICES, "web")


async def test_a_cluster_under_traffic_control_offers_no_endpoints_until_it_is_over(
    gated: Federation, caplog: Any
) -> None:
    async with without_errors(caplog):
        await gated.members["member1"].resource(SLICES).create(endpoint_slice("10.1.0.1", name="web-1"))
        await gated.apply(service(), multi_cluster(["member1"], ["member2"]))
        await become(gated, "member2", "web", {"member1-web-1": ["10.1.0.1"]})
        condition = {"type": "ServiceDomainNameResolutionReady", "status": "False", "reason": "Failed", "message": ""}
        requirement = {"conditionType": condition["type"], "operator": "Equal", "conditionStatus": "False"}
        await gated.apply(
            {
                "apiVersion": "remedy.karmada.io/v1alpha1",
                "kind": "Remedy",
                "metadata": {"name": "dns"},
                "spec": {
                    "decisionMatches": [{"clusterConditionMatch": requirement}],
                    "actions": ["TrafficControl"],
                },
            }
        )

        async def resolve(status: str) -> None:
            """What the detector in the cluster says about names of services."""
            while True:
                cluster = await gated.hub.resource(CLUSTERS).get("member1")
                others = [c for c in cluster["status"]["conditions"] if c["type"] != condition["type"]]
                new = {**condition, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
                metadata = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
                patch = {"metadata": metadata, "status": {"conditions": [*others, new]}}
                try:
                    await gated.hub.resource(CLUSTERS).patch("member1", patch, subresource="status")
                except Exception:
                    await asyncio.sleep(0.01)
                else:
                    return

        await resolve("False")
        await become(gated, "member2", "web", {})

        async def reported() -> bool:
            return "EndpointsWithdrawn" in await reasons(gated, "MultiClusterService")

        await gated.happens(reported)
        await resolve("True")
        await become(gated, "member2", "web", {"member1-web-1": ["10.1.0.1"]})


async def test_a_cluster_that_leaves_takes_its_endpoints_along(gated: Federation, caplog: Any) -> None:
    async with without_errors(caplog):
        await gated.members["member1"].resource(SLICES).create(endpoint_slice("10.1.0.1", name="web-1"))
        await gated.apply(service(), multi_cluster([], []))
        await become(gated, "member2", "web", {"member1-web-1": ["10.1.0.1"]})
        await gated.hub.resource(CLUSTERS).delete("member1")
        await become(gated, "member2", "web", {})

        async def left() -> bool:
            return [one["metadata"]["name"] for one in (await gated.hub.resource(CLUSTERS).list()).items] == ["member2"]

        await gated.happens(left)
        local = (await gated.members["member1"].resource(SLICES).list(Scope("default"))).items
        assert "web-1" in [one["metadata"]["name"] for one in local], "what is the member's own stays"


async def test_consumers_without_a_route_to_providers_are_named_where_networks_are_declared(
    gated: Federation, caplog: Any
) -> None:
    async with without_errors(caplog):
        await gated.apply(service(), multi_cluster(["member2"], ["member1"]))

        async def reachable(status: str) -> Any:
            found = await gated.hub.resource(MCS).get("web", "default")
            known = {c["type"]: c for c in found["status"]["conditions"]}
            assert known["ServiceApplied"]["status"] == "True"
            assert known.get("Reachable", {"status": ""})["status"] == status
            return known.get("Reachable") or True

        async def declare(cluster: str, networks: str | None, ranges: str | None = None) -> None:
            fields = {"network.karmada.io/networks": networks, "network.karmada.io/pod-cidrs": ranges}
            await gated.hub.resource(CLUSTERS).patch(cluster, {"metadata": {"annotations": fields}})

        await gated.happens(lambda: reachable(""))
        await declare("member1", "edge", "10.1.0.0/16")
        condition = await gated.happens(lambda: reachable("Unknown"))
        assert condition["reason"] == "NetworkNotDeclared"
        await declare("member2", "backbone", "10.2.0.0/16")
        condition = await gated.happens(lambda: reachable("False"))
        assert condition["reason"] == "NoRoute"
        assert condition["message"] == "no route from member1 to 10.2.0.0/16 of member2: use the gateway"
        await declare("member1", "edge,backbone", "10.1.0.0/16")
        condition = await gated.happens(lambda: reachable("True"))
        assert condition["reason"] == "Routed"
        for cluster in ("member1", "member2"):
            await declare(cluster, None)
        await gated.happens(lambda: reachable(""))


async def test_a_cluster_can_leave_that_has_a_service_whose_exposure_is_gone(gated: Federation, caplog: Any) -> None:
    async with without_errors(caplog):
        await gated.apply(service(), multi_cluster([], []))
        await gated.arrives("member1", SERVICES, "web")
        await gated.hub.resource(MCS).delete("web", "default")
        await become_free_of_works(gated, "MultiClusterService")
        await gated.hub.resource(CLUSTERS).delete("member1")

        async def left() -> bool:
            return [one["metadata"]["name"] for one in (await gated.hub.resource(CLUSTERS).list()).items] == ["member2"]

        await gated.happens(left)
