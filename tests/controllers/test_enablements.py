"""What a member serves, as far as it says so, and whether that is all."""

import orjson
import pytest
from tests.controllers.plane import CLUSTERS
from tests.controllers.test_cluster_probes import condition, on_a_member

COMPLETE = "collected complete APIEnablements from the cluster"


def discovery(*stale, served=True):
    """An aggregated discovery document of one kind, and of groups that did not answer."""
    kinds = [{"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": ["get"]}]
    items = (
        [{"metadata": {"name": "example.io"}, "versions": [{"version": "v1", "resources": kinds}]}] if served else []
    )
    versions = [{"version": "v1", "freshness": "Stale", "resources": []}]
    items += [{"metadata": {"name": name}, "versions": versions} for name in stale]
    return orjson.dumps({"kind": "APIGroupDiscoveryList", "items": items})


NOTHING = discovery(served=False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (discovery(), ("True", "Complete", COMPLETE)),
        (
            discovery("b.io", "a.io"),
            ("False", "Partial", "collected 1 APIEnablements from the cluster; no answer about: a.io/v1, b.io/v1"),
        ),
        (NOTHING, ("False", "Empty", "collected no APIEnablements from the cluster")),
    ],
    ids=["all", "not all", "nothing"],
)
def test_a_list_that_is_not_complete_says_so(answer, expected):
    async def scenario(plane, members, _):
        members.transport.answers = {"/api": NOTHING, "/apis": answer}
        await plane.cluster("m1")
        await plane.clock.sleep(15)
        assert await condition(plane, "CompleteAPIEnablements") == expected
        found = (await plane.client.resource(CLUSTERS).get("m1"))["status"].get("apiEnablements", [])
        assert [one["groupVersion"] for one in found] == ["example.io/v1"] * (answer != NOTHING)

    on_a_member(scenario)


def test_groups_that_do_not_answer_are_named_up_to_a_number():
    async def scenario(plane, members, _):
        members.transport.answers = {"/api": NOTHING, "/apis": discovery(*(f"g{number}.io" for number in range(12)))}
        await plane.cluster("m1")
        await plane.clock.sleep(15)
        text = (await condition(plane, "CompleteAPIEnablements"))[2]
        assert text.count(".io/v1") == 10

    on_a_member(scenario)


def test_a_version_that_is_too_long_is_cut():
    async def scenario(plane, members, _):
        members.transport.answers = {"/version": orjson.dumps({"gitVersion": "v" * 300})}
        await plane.cluster("m1")
        await plane.clock.sleep(15)
        version = (await plane.client.resource(CLUSTERS).get("m1"))["status"]["kubernetesVersion"]
        assert version == f"{'v' * 100}... (300 characters)"

    on_a_member(scenario)
