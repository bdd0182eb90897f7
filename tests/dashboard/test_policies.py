"""Which policies want the same: looked for beside the work of others, and not for ever."""

import asyncio
from typing import Any, cast

import msgspec

from karmada.api.policy.v1alpha1 import PropagationPolicy
from karmada.dashboard.board import Board
from karmada.dashboard.policies import _STEP, _conflicts, _rows
from karmada.dashboard.rows import JSONObject, template_row


class Crowd:
    """A board of a namespace in which every policy chooses every Deployment."""

    def __init__(self, workloads: int, policies: int) -> None:
        self._rows = [
            template_row(
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": f"w{number}", "namespace": "team"},
                    "spec": {},
                }
            )
            for number in range(workloads)
        ]
        selector = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team"}
        self._policies = [
            msgspec.convert(
                {"metadata": {"name": f"p{number}", "namespace": "team"}, "spec": {"resourceSelectors": [selector]}},
                PropagationPolicy,
            )
            for number in range(policies)
        ]

    def policies(self) -> list[PropagationPolicy]:
        return self._policies

    def workload_rows(self) -> list[JSONObject]:
        return self._rows

    def labels(self, key: str) -> dict[str, str]:
        return {}


async def test_many_policies_for_many_objects_leave_others_their_turns() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task: asyncio.Task[Any] = asyncio.create_task(others())
    rows = await _rows(cast(Board, Crowd(100, 20)))
    task.cancel()
    assert len(rows) == 20
    assert turns >= 100 * 20 // _STEP


async def test_conflicts_are_looked_for_with_a_bounded_number_of_comparisons() -> None:
    crowd = Crowd(10, 20)
    few = await _conflicts(list(crowd.policies()), cast(Board, crowd), most=60)
    all_ = await _conflicts(list(crowd.policies()), cast(Board, crowd), most=1000)
    assert {len(found) for found in few.values()} == {0, 3}
    assert {len(found) for found in all_.values()} == {0, 10}


async def test_policies_that_name_other_objects_do_not_end_the_search_for_conflicts() -> None:
    crowd = Crowd(10, 2)
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team"}
    others = [
        msgspec.convert(
            {
                "metadata": {"name": f"other{number}", "namespace": "team"},
                "spec": {"resourceSelectors": [{**selector, "name": f"other{number}"}]},
            },
            PropagationPolicy,
        )
        for number in range(100)
    ]
    found = await _conflicts([*others, *crowd.policies()], cast(Board, crowd), most=20)
    assert {len(listed) for listed in found.values()} == {0, 10}
