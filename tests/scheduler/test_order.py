"""In which order bindings are decided when a cluster changes."""

from tests.scheduler.plane import BINDINGS, CLUSTERS, Plane, on_a_plane

from karmada.machinery.transport import Verb


def test_when_a_cluster_changes_the_bindings_that_go_there_are_decided_first() -> None:
    async def scenario(plane: Plane) -> None:
        one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
        await plane.join("member1")
        for number in range(5):
            await plane.bind(f"elsewhere{number}", placement=one)
        await plane.settle()
        await plane.join("member2")
        await plane.bind("there", placement=one, clusters=[{"name": "member2", "replicas": 2}])
        await plane.settle()
        assert await plane.result("there") == {"member2": 2}
        plane.requests.clear()
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"labels": {"color": "blue"}}})
        await plane.settle()
        written = [r.name for r in plane.requests if r.verb is Verb.PATCH and r.resource == BINDINGS]
        assert written == ["there", *(f"elsewhere{number}" for number in range(5))]

    on_a_plane(scenario)
