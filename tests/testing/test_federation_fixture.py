"""The fixture people test their own policies with."""

import gc

import pytest

from karmada.machinery.errors import ApiError

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.25"}]}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 3}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
"""


async def test_a_policy_is_tested_from_template_to_status(federation):
    async with federation(members=3) as world:
        await world.apply(DEPLOYMENT, POLICY)
        placed = await world.eventually(lambda: world.placement("Deployment", "web"))
        assert placed == {"member1": 3, "member2": 1}

        async def all_ready():
            return (await world.get("Deployment", "web"))["status"]["readyReplicas"] == 4

        await world.eventually(all_ready)
        assert (await world.members["member1"].get("Deployment", "web"))["spec"]["replicas"] == 3
        with pytest.raises(ApiError, match="not found"):
            await world.members["member3"].get("Deployment", "web")


async def test_a_member_fails_and_recovers(federation):
    async with federation(members=2) as world:

        async def ready():
            cluster = await world.get("Cluster", "member1", api_version="cluster.karmada.io/v1alpha1")
            return next(c["status"] for c in cluster["status"]["conditions"] if c["type"] == "Ready")

        async def is_not_ready():
            return await ready() != "True"

        async def is_ready():
            return await ready() == "True"

        world.members["member1"].fail()
        await world.eventually(is_not_ready)
        world.members["member1"].recover()
        await world.eventually(is_ready)


async def test_what_does_not_happen_is_reported_with_the_last_answer(federation):
    async with federation(members=1) as world:
        with pytest.raises(AssertionError, match=r"did not happen within 0 s; last: NotFound"):
            await world.eventually(lambda: world.get("Deployment", "absent"), seconds=0.05)


async def test_a_misspelt_policy_is_refused_by_name(federation):
    async with federation(members=1) as world:
        wrong = r'^manifest:8: unknown field "spec.placement.clusterAfinity" \(did you mean clusterAffinity\?\)$'
        with pytest.raises(AssertionError, match=wrong):
            await world.apply(POLICY.replace("clusterAffinity", "clusterAfinity"))


async def test_a_policy_that_is_refused_names_its_file(federation, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.replace("weight: 3", "weight: -3"))
    async with federation(members=1) as world:
        with pytest.raises(AssertionError, match=rf"^{file}:2: .*weight"):
            await world.apply(file)


async def test_a_kind_that_does_not_exist_is_refused_with_file_and_line(federation, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("# A policy.\n" + POLICY.lstrip().replace("PropagationPolicy", "PropagationPolcy"))
    async with federation(members=1) as world:
        with pytest.raises(AssertionError, match=f'^{file}:3: the server has no kind "PropagationPolcy"'):
            await world.apply(file)


async def test_the_name_of_a_file_is_not_taken_for_its_text(federation):
    async with federation(members=1) as world:
        with pytest.raises(AssertionError, match=r'for the file write Path\("shop.yaml"\)'):
            await world.apply("shop.yaml")


async def test_a_wait_in_vain_ends_with_the_reason(federation):
    async with federation(members=2) as world:
        await world.apply(DEPLOYMENT, POLICY.replace("member1, member2", "elsewhere"))

        async def placed():
            return await world.placement("Deployment", "web")

        with pytest.raises(AssertionError) as caught:
            await world.eventually(placed, seconds=2)
        assert "✗ scheduling" in str(caught.value)
        assert "elsewhere" in str(caught.value)


async def test_the_chain_and_the_tree_of_a_workload_are_asked_for(federation):
    async with federation(members=2) as world:
        await world.apply(DEPLOYMENT, POLICY)

        async def all_ready():
            return (await world.get("Deployment", "web"))["status"]["readyReplicas"] == 4

        await world.eventually(all_ready)
        assert (await world.why("Deployment", "web")).endswith("Nothing is broken.\n")
        assert "└─ Pod web-" in await world.tree("Deployment", "web")


async def test_federations_of_one_process_are_strangers(federation):
    """Later ones take over what all have alike, never what was done with an earlier one nor who its members were."""

    async def identities(world):
        spaces = [await member.get("Namespace", "kube-system", api_version="v1") for member in world.members.values()]
        return {space["metadata"]["uid"] for space in spaces}

    async with federation(members=2) as first, federation(members=2) as second:
        await first.apply(DEPLOYMENT)
        with pytest.raises(ApiError, match="not found"):
            await second.get("Deployment", "web")
        assert len(await identities(first) | await identities(second)) == 4
    async with federation(members=1) as third:
        with pytest.raises(ApiError, match="not found"):
            await third.get("Deployment", "web")


async def test_the_garbage_collector_is_left_as_it_was(federation):
    async with federation(members=1):
        assert gc.isenabled()
    gc.disable()
    try:
        async with federation(members=1):
            assert not gc.isenabled()
    finally:
        gc.enable()
