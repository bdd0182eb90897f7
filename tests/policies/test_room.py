"""How many replicas clusters have room for."""

import pytest

from karmada.policies.autoscaling.capacity import Fit, Room, fit


def rooms(here: dict[str, int | None], elsewhere: dict[str, int | None]) -> list[Room]:
    return [
        Room(name, count, "cpu", runs)
        for found, runs in ((here, True), (elsewhere, False))
        for name, count in found.items()
    ]


@pytest.mark.parametrize(
    ("wanted", "here", "elsewhere"),
    [
        (9, {"m1": 5}, {}),
        (9, {"m1": 3, "m2": 2}, {"m3": 0}),
        (4, {"m1": 0}, {}),
        (5, {"m1": 1}, {}),
        (2, {"m1": 0}, {}),
        (9, {}, {}),
        (9, {"m1": None}, {}),
        (99, {"m1": 0, "m2": None}, {}),
    ],
    ids=[
        "enough",
        "together",
        "no growth",
        "exactly one",
        "fewer",
        "nothing known",
        "unknown room",
        "one of unknown room",
    ],
)
def test_what_fits_where_the_workload_runs_is_asked_for_without_a_word(
    wanted: int, here: dict[str, int | None], elsewhere: dict[str, int | None]
) -> None:
    assert fit(4, wanted, rooms(here, elsewhere)) == Fit(wanted)


def test_what_fits_elsewhere_is_asked_for_and_it_is_said_who_takes_it() -> None:
    found = fit(4, 10, rooms({"m1": 1}, {"m2": 2, "m3": 9, "m4": 0, "m5": None}))
    assert found.replicas == 10
    assert found.condition is not None
    assert (found.condition.type, found.condition.status, found.condition.reason) == (
        "ScalingLimited",
        False,
        "ScalingOut",
    )
    assert (
        found.condition.message == "m1 has room for 1 more (insufficient cpu); m5, m3, m2 can take the rest of 6 more"
    )


def test_no_more_is_asked_for_than_fits_and_every_cluster_is_named_with_what_it_lacks() -> None:
    found = fit(4, 10, [Room("m1", 1, "cpu", True), Room("m2", 0, "memory", True), Room("m3", 2, "pods", False)])
    assert found.replicas == 7
    assert found.condition is not None
    assert (found.condition.status, found.condition.reason) == (True, "InsufficientCapacity")
    assert found.condition.message == (
        "6 more replicas are wanted, 3 fit: m1 has room for 1 more (insufficient cpu), "
        "m2 has room for 0 more (insufficient memory), m3 has room for 2 more (insufficient pods)"
    )


def test_replicas_that_run_are_kept_when_there_is_no_room_at_all() -> None:
    assert fit(4, 10, rooms({"m1": 0}, {"m2": 0})).replicas == 4


def test_exactly_enough_room_is_enough() -> None:
    assert fit(4, 7, rooms({"m1": 1}, {"m2": 2})).replicas == 7
    assert fit(4, 8, rooms({"m1": 1}, {"m2": 2})).replicas == 7


def test_what_was_added_lately_takes_room_that_clusters_still_report() -> None:
    assert fit(4, 7, rooms({"m1": 5}, {}), uncounted=2) == Fit(7)
    assert fit(4, 8, rooms({"m1": 5}, {}), uncounted=2).replicas == 7
    assert fit(4, 8, rooms({"m1": 5}, {}), uncounted=9).replicas == 4


def test_one_more_is_not_asked_for_when_there_is_no_room_and_no_more_is_no_matter_of_room() -> None:
    full = rooms({"m1": 0}, {})
    assert fit(4, 5, full).replicas == 4
    assert fit(4, 4, full, uncounted=2) == Fit(4)


def test_a_cluster_with_room_for_one_is_named() -> None:
    found = fit(4, 5, rooms({"m1": 0}, {"m2": 1, "m3": 0}))
    assert found.condition is not None
    assert found.condition.message.endswith("; m2 can take the rest of 1 more")
