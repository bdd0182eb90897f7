"""What pods and nodes used lately: in memory, bounded, and never a zero for what was not measured."""

import orjson

from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.metrics_adapter.history import INTERVAL, MOST, POINTS, History, Key, Used
from karmada.standalone.control_plane import METRICS_ADAPTER, ControlPlaneOptions
from karmada.testing.federation import Federation
from karmada.testing.loop import VirtualClock, run_virtual

PODS = GroupVersionResource("", "v1", "pods")
POD_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
NODE_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")


def key(number: int) -> Key:
    return Key("member1", "default", f"pod-{number}")


def rounds(history: History, *values: int | None) -> None:
    for value in values:
        history.round += 1
        if value is not None:
            history.put("pods", [(key(1), Used(value, 2 * value))])


def test_a_round_that_was_missed_is_a_gap_and_the_newest_point_is_now() -> None:
    history = History()
    rounds(history, 10, None, None, 40, None)
    known = history.of("pods", key(1))
    assert known == {
        "intervalSeconds": 30,
        "cpuMilli": [10, None, None, 40, None],
        "memoryMebi": [20, None, None, 80, None],
    }
    assert history.of("pods", key(2)) is None
    assert history.of("nodes", key(1)) is None


def test_an_object_has_so_many_points_and_is_forgotten_after_as_many_gaps() -> None:
    history = History()
    rounds(history, *range(POINTS + 5))
    known = history.of("pods", key(1))
    assert known is not None
    assert known["cpuMilli"] == list(range(5, POINTS + 5))
    rounds(history, *[None] * (POINTS - 1))
    history.forget_old()
    known = history.of("pods", key(1))
    assert known is not None
    assert known["cpuMilli"] == [POINTS + 4, *[None] * (POINTS - 1)]
    rounds(history, None)
    history.forget_old()
    assert history.of("pods", key(1)) is None


def test_a_long_gap_between_two_measurements_costs_no_more_points() -> None:
    history = History()
    rounds(history, 1, *[None] * (POINTS * 3), 2)
    known = history.of("pods", key(1))
    assert known is not None
    assert known["cpuMilli"] == [*[None] * (POINTS - 1), 2]


def test_of_too_many_objects_the_first_are_kept_until_they_are_gone() -> None:
    history, most = History(), MOST["pods"]
    history.round = 1
    history.put("pods", [(key(number), Used(1, 1)) for number in range(most + 1)])
    assert history.of("pods", key(most)) is None
    history.round = 2
    history.put("pods", [(key(number), Used(1, 1)) for number in range(1, most + 1)])
    assert history.of("pods", key(most)) is None, "the first was measured a round ago: its member may just be late"
    history.round = 3
    history.put("pods", [(key(number), Used(1, 1)) for number in range(1, most + 2)])
    assert history.of("pods", key(0)) is None
    assert history.of("pods", key(most)) is not None
    assert history.of("pods", key(most + 1)) is None


def test_amounts_that_fit_no_field_are_cut() -> None:
    history = History()
    rounds(history, 2**40, -5)
    known = history.of("pods", key(1))
    assert known is not None
    assert known["cpuMilli"] == [2**31 - 1, 0]


def test_answers_carry_the_history_when_it_is_asked_for() -> None:
    async def main() -> None:
        clock = VirtualClock()
        options = ControlPlaneOptions(addons=frozenset({METRICS_ADAPTER}), clock=clock)
        async with Federation(2, options=options) as federation:
            member = federation.members["member1"]
            spec = {"containers": [{"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}
            await member.client.resource(PODS).create({"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
            await clock.sleep(2 * INTERVAL)
            member.use("default/a", 300, 64 << 20)
            await clock.sleep(2 * INTERVAL)
            federation.members["member2"].fail()
            await clock.sleep(2 * INTERVAL)

            async def read(type_: GroupVersionResource, namespace: str = "", name: str = "") -> dict:
                verb = Verb.GET if name else Verb.LIST
                request = Request(verb, type_, namespace, name, params={"history": "true"})
                return orjson.loads(await federation.hub.transport.send(request))

            (pod,) = (await read(POD_METRICS, "default"))["items"]
            points = pod["history"]["cpuMilli"]
            assert points[0] == 50
            assert points[-1] == 300
            assert points == sorted(points)
            assert pod["history"]["memoryMebi"][-1] == 64
            assert (await read(POD_METRICS, "default", "a"))["history"] == pod["history"]
            nodes = (await read(NODE_METRICS))["items"]
            assert nodes
            assert all("history" in node for node in nodes)
            plain = (await federation.hub.resource(POD_METRICS).list(Scope("default"))).items
            assert "history" not in plain[0]

    run_virtual(main)
