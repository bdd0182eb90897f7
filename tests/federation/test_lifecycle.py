"""What policies, members and people do to a propagated resource over its life."""

import asyncio
from typing import Any

from karmada.api import annotations, labels
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
EVENTS = GroupVersionResource("", "v1", "events")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
BOTH = ("member1", "member2")


def config_map(name: str = "app", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"v": "1"}}


def policy(name: str = "all", clusters: tuple[str, ...] = BOTH, selects: str = "app", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": selects}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters)}},
        }
        | spec,
    }


async def work_of(federation: Any, member: str) -> dict[str, Any]:
    [work] = [
        work
        for work in (await federation.hub.resource(WORKS).list()).items
        if work["metadata"]["namespace"] == f"karmada-es-{member}"
        and work["spec"]["workload"]["manifests"][0]["kind"] == "ConfigMap"
    ]
    found: dict[str, Any] = work
    return found


async def something_later_arrives(federation: Any, member: str) -> None:
    """Have an object go the whole way that began after everything so far: what has not happened by then will not."""
    await federation.apply(policy("later", (member,), "later"), config_map("later"))
    await federation.arrives(member, CONFIG_MAPS, "later")


async def test_what_a_member_changes_is_put_right(federation: Any) -> None:
    await federation.apply(policy(), config_map())
    await federation.arrives("member1", CONFIG_MAPS, "app")
    local = federation.members["member1"].resource(CONFIG_MAPS)
    await local.patch("app", {"data": {"v": "mine"}, "metadata": {"labels": {"own": "stays"}}}, "default")

    async def restored() -> bool:
        copy = await federation.copy("member1", CONFIG_MAPS, "app")
        return copy["data"] == {"v": "1"} and copy["metadata"]["labels"]["own"] == "stays"

    await federation.happens(restored)
    await local.delete("app", "default")
    await federation.arrives("member1", CONFIG_MAPS, "app")


async def test_suspended_dispatching_keeps_members_as_they_are(federation: Any) -> None:
    await federation.apply(policy(suspension={"dispatchingOnClusters": {"clusterNames": ["member2"]}}), config_map())
    await federation.arrives("member1", CONFIG_MAPS, "app")

    async def suspended() -> bool:
        found = {c["type"]: c for c in (await work_of(federation, "member2"))["status"]["conditions"]}
        return found["Dispatching"]["reason"] == "SuspendDispatching"

    await federation.happens(suspended)
    assert await federation.copy("member2", CONFIG_MAPS, "app") is None
    await federation.hub.resource(POLICIES).patch("all", {"spec": {"suspension": None}}, "default")
    await federation.arrives("member2", CONFIG_MAPS, "app")


async def test_a_work_reports_when_dispatching_is_suspended_and_resumed(federation: Any) -> None:
    await federation.apply(policy(), config_map())
    await federation.arrives("member1", CONFIG_MAPS, "app")

    async def reported() -> bool:
        events = (await federation.hub.resource(EVENTS).list(Scope("karmada-es-member1"))).items
        messages = [event["message"] for event in events if event["reason"] == "WorkDispatching"]
        return messages == expected

    expected = ["Work is being dispatched to member clusters."]
    await federation.happens(reported)
    await federation.hub.resource(POLICIES).patch("all", {"spec": {"suspension": {"dispatching": True}}}, "default")
    expected.append("Work dispatching is in a suspended state.")
    await federation.happens(reported)


async def test_a_preserved_object_stays_and_forgets_karmada(federation: Any) -> None:
    await federation.apply(policy(preserveResourcesOnDeletion=True), config_map())
    for member in BOTH:
        await federation.arrives(member, CONFIG_MAPS, "app")
    await federation.hub.resource(CONFIG_MAPS).delete("app", "default")

    async def released() -> bool:
        copies = [await federation.copy(member, CONFIG_MAPS, "app") for member in BOTH]
        return all("karmada.io/managed" not in (copy["metadata"].get("labels") or {}) for copy in copies)

    await federation.happens(released)


async def test_a_lazy_policy_waits_for_the_template_to_change(federation: Any) -> None:
    await federation.apply(policy(clusters=("member1",)), config_map())
    await federation.arrives("member1", CONFIG_MAPS, "app")
    lazy = {"activationPreference": "Lazy", "placement": {"clusterAffinity": {"clusterNames": ["member2"]}}}
    await federation.hub.resource(POLICIES).patch("all", {"spec": lazy}, "default")
    await something_later_arrives(federation, "member2")
    assert await federation.copy("member2", CONFIG_MAPS, "app") is None
    await federation.hub.resource(CONFIG_MAPS).patch("app", {"data": {"v": "2"}}, "default")
    await federation.arrives("member2", CONFIG_MAPS, "app")
    await federation.leaves("member1", CONFIG_MAPS, "app")


async def test_a_policy_with_preemption_takes_over_only_with_a_higher_priority(preempting_federation: Any) -> None:
    federation = preempting_federation
    await federation.apply(policy("old", ("member1",), priority=5), config_map())
    await federation.arrives("member1", CONFIG_MAPS, "app")
    await federation.apply(policy("weak", ("member2",), priority=4, preemption="Always"))
    await something_later_arrives(federation, "member2")
    assert await federation.copy("member2", CONFIG_MAPS, "app") is None
    await federation.apply(policy("strong", ("member2",), priority=6, preemption="Always"))
    await federation.arrives("member2", CONFIG_MAPS, "app")
    await federation.leaves("member1", CONFIG_MAPS, "app")


async def test_a_members_own_object_is_left_alone_until_the_policy_says_overwrite(federation: Any) -> None:
    await federation.members["member1"].resource(CONFIG_MAPS).create(config_map(v="members"))
    await federation.apply(policy(clusters=("member1",)), config_map())

    async def refused() -> bool:
        found = {c["type"]: c for c in (await work_of(federation, "member1"))["status"]["conditions"]}
        return found["Applied"]["status"] == "False" and "already exists" in found["Applied"]["message"]

    await federation.happens(refused)
    copy = await federation.copy("member1", CONFIG_MAPS, "app")
    assert copy["data"] == {"v": "members"}
    await federation.hub.resource(POLICIES).patch("all", {"spec": {"conflictResolution": "Overwrite"}}, "default")

    async def taken() -> bool:
        return bool((await federation.copy("member1", CONFIG_MAPS, "app"))["data"] == {"v": "1"})

    await federation.happens(taken)


async def test_a_cluster_that_is_left_and_taken_again_at_once_has_its_copy(federation: Any) -> None:
    await federation.apply(policy(), config_map())
    await federation.arrives("member2", CONFIG_MAPS, "app")
    policies = federation.hub.resource(POLICIES)
    for clusters in (["member1"], ["member1", "member2"]) * 5:
        placement = {"placement": {"clusterAffinity": {"clusterNames": clusters}}}
        await policies.patch("all", {"spec": placement}, "default")
        await asyncio.sleep(0.003)

    async def settled() -> bool:
        binding = await federation.hub.resource(BINDINGS).get("app-configmap", "default")
        items = binding["status"].get("aggregatedStatus") or []
        return len(items) == 2 and all(item.get("applied") for item in items)

    await federation.happens(settled)
    await federation.arrives("member2", CONFIG_MAPS, "app")


async def test_a_work_written_by_hand_is_delivered_updated_and_deleted(federation: Any) -> None:
    work = {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": "by-hand", "namespace": "karmada-es-member1"},
        "spec": {"workload": {"manifests": [config_map("hand")]}},
    }
    await federation.apply(work)
    await federation.arrives("member1", CONFIG_MAPS, "hand")
    carried = (await federation.copy("member1", CONFIG_MAPS, "hand"))["metadata"]
    assert list(carried["labels"]) == [labels.WORK_PERMANENT_ID]
    assert set(carried["annotations"]) == {annotations.MANAGED_ANNOTATIONS, annotations.MANAGED_LABELS}
    works = federation.hub.resource(WORKS)
    await works.patch("by-hand", {"spec": {"workload": {"manifests": [config_map("hand", v="2")]}}}, work_space())

    async def updated() -> bool:
        return bool((await federation.copy("member1", CONFIG_MAPS, "hand"))["data"] == {"v": "2"})

    await federation.happens(updated)
    await works.delete("by-hand", work_space())
    await federation.leaves("member1", CONFIG_MAPS, "hand")


def work_space() -> str:
    return "karmada-es-member1"
