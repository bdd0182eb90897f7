"""Clusters that join, change, leave or are lost: which bindings the scheduler decides anew."""

from tests.scheduler.plane import BINDINGS, CLUSTERS, DYNAMIC, Plane, on_a_plane

from karmada.machinery.transport import Request, Verb
from karmada.scheduler.cluster_looks import MOST, PERIOD

WEIGHTED = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {
        "staticWeightList": [
            {"targetCluster": {"clusterNames": ["member1"]}, "weight": 1},
            {"targetCluster": {"clusterNames": ["member2"]}, "weight": 9},
        ]
    },
}


def test_replicas_move_away_from_a_cluster_that_is_being_deleted() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name)
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"finalizers": ["test/hold"]}})
        await plane.client.resource(CLUSTERS).delete("member2")
        await plane.settle()
        assert await plane.result("web") == {"member1": 4}

    on_a_plane(scenario)


def test_replicas_leave_a_cluster_that_is_being_deleted_though_their_affinity_means_it_no_more() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name, labels={"env": "prod"}, finalizers=["test/hold"])
        affinity = {"labelSelector": {"matchLabels": {"env": "prod"}}}
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC, "clusterAffinity": affinity})
        await plane.settle()
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"labels": {"env": None}}})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        await plane.client.resource(CLUSTERS).delete("member2")
        await plane.settle()
        assert await plane.result("web") == {"member1": 4}

    on_a_plane(scenario)


def test_replicas_that_had_no_room_elsewhere_leave_a_cluster_that_was_taken_out_by_force() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name, finalizers=["test/hold"])
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        await plane.report("member1", 1)
        await plane.client.resource(CLUSTERS).delete("member2")
        await plane.settle()
        assert (await plane.condition("web"))["reason"] == "Unschedulable"
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"finalizers": None}})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        await plane.report("member1", 10)
        await plane.settle(20)
        assert await plane.result("web") == {"member1": 4}

    on_a_plane(scenario)


def test_a_binding_that_names_clusters_that_never_were_is_decided_anew_for_one_request() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        invented = [{"name": f"never{number}", "replicas": 1} for number in range(100)]
        for targets in (invented, [{"name": "no,metadata.name!=cluster", "replicas": 4}]):
            await plane.client.resource(BINDINGS).patch("web", {"spec": {"clusters": targets}}, "default")
            await plane.settle()
            assert await plane.result("web") == {"member1": 4}
        asked = [request.params.get("fieldSelector") for request in plane.requests if request.resource == CLUSTERS]
        assert [selector for selector in asked if selector] == ["metadata.name=never0"]

    on_a_plane(scenario)


def test_replicas_stay_in_a_cluster_that_only_the_cache_lacks() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name)
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        plane.scheduler.snapshot.remove("member2")
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"conflictResolution": "Overwrite"}}, "default")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


def test_a_cluster_that_joined_while_no_event_arrived_gets_its_copies() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        plane.lose_events(CLUSTERS)
        await plane.join("member2")
        await plane.settle(5)
        assert await plane.result("web") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


def test_a_cluster_that_joined_while_no_policy_had_a_binding_gets_its_copies_when_the_policy_is_back() -> None:
    async def scenario(plane: Plane) -> None:
        label = "propagationpolicy.karmada.io/permanent-id"
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        await plane.client.resource(BINDINGS).patch("web", {"metadata": {"labels": {label: None}}}, "default")
        await plane.settle()
        await plane.join("member2")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2}
        await plane.client.resource(BINDINGS).patch("web", {"metadata": {"labels": {label: "q"}}}, "default")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


def test_only_concerned_bindings_are_looked_at_again() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", labels={"env": "prod"})
        await plane.join("member2", labels={"env": "dev"})
        for env in ("prod", "dev"):
            affinity = {"labelSelector": {"matchLabels": {"env": env}}}
            await plane.bind(env, placement={"clusterAffinity": affinity})
        await plane.settle()
        before = dict(plane.scheduler.metrics.attempts)
        labels = {"metadata": {"labels": {"color": "blue"}}}
        await plane.client.resource(CLUSTERS).patch("member1", labels)
        await plane.settle()
        after = plane.scheduler.metrics.attempts
        assert sum(after.values()) - sum(before.values()) == 1

    on_a_plane(scenario)


def test_a_status_report_of_a_cluster_makes_nobody_look_again() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        before = sum(plane.scheduler.metrics.attempts.values())
        await plane.report("member1", 50)
        await plane.settle()
        assert sum(plane.scheduler.metrics.attempts.values()) == before

    on_a_plane(scenario)


def test_a_binding_that_has_to_move_and_finds_no_room_moves_once_there_is_some() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=4)
        await plane.join("member2", pods=4, finalizers=["test/hold"])
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        await plane.report("member1", 1)
        await plane.client.resource(CLUSTERS).delete("member2")
        await plane.settle()
        assert (await plane.condition("web"))["reason"] == "Unschedulable"
        await plane.report("member1", 10)
        await plane.settle(20)
        assert await plane.result("web") == {"member1": 4}

    on_a_plane(scenario)


def test_a_result_that_the_cache_does_not_show_yet_is_not_decided_anew_when_a_cluster_changes() -> None:
    async def scenario(plane: Plane) -> None:
        def lose(request: Request) -> None:
            if request.verb is Verb.PATCH and request.resource == BINDINGS:
                plane.before_request = None
                plane.lose_events()

        await plane.join("member1")
        plane.before_request = lose
        await plane.bind("web", 1, {"replicaScheduling": WEIGHTED})
        await plane.settle(0.01)
        assert await plane.result("web") == {"member1": 1}
        await plane.join("member2")
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"labels": {"zone": "a"}}})
        await plane.settle(5)
        assert await plane.result("web") == {"member1": 1}, "nothing asked for a move"

    on_a_plane(scenario)


def test_bindings_are_looked_at_at_a_pace_while_the_readiness_of_a_cluster_comes_and_goes() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name)
        await plane.bind("web")
        await plane.settle(5)

        async def taint(effect: str) -> int:
            """How often the binding is written because of a taint."""
            before = len(plane.requests)
            taints = [{"key": "cluster.karmada.io/not-ready", "effect": effect}] if effect else []
            await plane.client.resource(CLUSTERS).patch("member2", {"spec": {"taints": taints}})
            await plane.settle(1)
            return sum(request.resource == BINDINGS for request in plane.requests[before:])

        written = [await taint("" if turn % 2 else "NoSchedule") for turn in range(20)]
        assert [count > 0 for count in written] == [True] * MOST + [False] * (20 - MOST)
        assert await taint("NoSchedule") == 0
        await plane.bind("late")
        await plane.settle()
        assert await plane.result("late") == {"member1": 2}
        before = len(plane.requests)
        await plane.settle(PERIOD)
        assert any(request.resource == BINDINGS for request in plane.requests[before:])
        assert await taint("") > 0
        assert await plane.result("late") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


def test_a_cluster_that_changes_otherwise_is_looked_at_at_once_although_its_readiness_comes_and_goes() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name)
        for turn in range(2 * MOST + 1):
            taints = [] if turn % 2 else [{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]
            await plane.client.resource(CLUSTERS).patch("member2", {"spec": {"taints": taints}})
        await plane.bind("web", 2, {"clusterAffinity": {"labelSelector": {"matchLabels": {"a": "b"}}}})
        await plane.client.resource(CLUSTERS).patch("member2", {"spec": {"taints": []}})
        await plane.settle()
        assert await plane.result("web") == {}
        await plane.client.resource(CLUSTERS).patch("member2", {"metadata": {"labels": {"a": "b"}}})
        await plane.settle()
        assert await plane.result("web") == {"member2": 2}

    on_a_plane(scenario)


def test_taints_that_people_set_are_looked_at_at_once() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        for turn in range(2 * MOST + 1):
            taints = [{"key": "a", "effect": "NoSchedule"}] if turn % 2 == 0 else []
            await plane.client.resource(CLUSTERS).patch("member1", {"spec": {"taints": taints}})
            await plane.settle(1)
        await plane.bind("web")
        await plane.settle()
        assert await plane.result("web") == {}
        await plane.client.resource(CLUSTERS).patch("member1", {"spec": {"taints": []}})
        await plane.settle(1)
        assert await plane.result("web") == {"member1": 2}

    on_a_plane(scenario)
