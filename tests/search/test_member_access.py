"""What users may do in members, asked of members that answer slowly or not at all. In virtual time."""

import asyncio
from typing import Any, cast

import orjson
import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource, Request
from karmada.membership.members import MemberUnavailable
from karmada.search.access import AT_ONCE, SUSPECTED, Ask, MemberAccess
from karmada.testing.loop import VirtualClock, run_virtual

PODS = GroupVersionResource("", "v1", "pods")


class Silent:
    """A member that refuses the whole cluster at once and says nothing about namespaces."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, request: Request) -> bytes:
        self.asked += 1
        review = orjson.loads(cast(bytes, request.body))
        if "namespace" in review["spec"]["resourceAttributes"]:
            await asyncio.Event().wait()
        return orjson.dumps({**review, "metadata": {}, "status": {"allowed": False}})


def test_a_member_that_says_nothing_about_namespaces_holds_nobody_up_for_long() -> None:
    async def scenario() -> None:
        member = Silent()
        client = Client(cast(Any, member))
        access = MemberAccess(VirtualClock())
        ann, bob = UserInfo("ann"), UserInfo("bob")
        loop = asyncio.get_running_loop()
        spaces = [f"team-{number}" for number in range(200)]
        with pytest.raises(MemberUnavailable):
            await access.readable("m", client, Ask(ann, "list", PODS), spaces)
        assert member.asked <= 2 * AT_ONCE
        started = loop.time()
        assert await access.allows("m", client, Ask(bob, "list", PODS)) is False
        assert loop.time() - started < 1
        asking = [asyncio.create_task(access.readable("m", client, Ask(bob, "list", PODS), spaces)) for _ in range(20)]
        started = loop.time()
        with pytest.raises(MemberUnavailable):
            await access.allows("m", client, Ask(ann, "list", PODS, "default"))
        assert loop.time() - started < 10
        await asyncio.gather(*asking, return_exceptions=True)

    run_virtual(scenario)


class Hanging:
    """A member that says nothing until it is well, and then takes a second for each answer."""

    def __init__(self) -> None:
        self.well = False

    async def send(self, request: Request) -> bytes:
        if not self.well:
            await asyncio.Event().wait()
        return await Slow().send(request)


async def refused(access: MemberAccess, user: str, member: Hanging) -> float:
    """Ask what somebody may do, in vain; the seconds that took."""
    started = asyncio.get_running_loop().time()
    with pytest.raises(MemberUnavailable):
        await access.allows("m", Client(cast(Any, member)), Ask(UserInfo(user), "list", PODS))
    return asyncio.get_running_loop().time() - started


def test_a_member_that_hangs_delays_the_first_requests_only_and_is_heard_once_it_answers() -> None:
    async def scenario() -> None:
        member, clock = Hanging(), VirtualClock()
        access = MemberAccess(clock)
        assert await refused(access, "ann", member) == 3
        assert await refused(access, "ann", member) < 1
        crowd = [refused(access, f"user-{number}", member) for number in range(5 * AT_ONCE)]
        assert max(await asyncio.gather(*crowd)) < 1
        member.well = True
        assert await refused(access, "bob", member) < 1
        await clock.sleep(SUSPECTED)
        assert await access.allows("m", Client(cast(Any, member)), Ask(UserInfo("bob"), "list", PODS)) is False

    run_virtual(scenario)


def test_who_waits_for_others_to_a_member_that_hangs_is_not_made_to_wait_as_long_again() -> None:
    async def scenario() -> None:
        access, member = MemberAccess(VirtualClock()), Hanging()
        crowd = [refused(access, f"user-{number}", member) for number in range(2 * AT_ONCE)]
        assert max(await asyncio.gather(*crowd)) < 4

    run_virtual(scenario)


class Slow:
    """A member that needs a second for each answer."""

    async def send(self, request: Request) -> bytes:
        await asyncio.sleep(1)
        review = orjson.loads(cast(bytes, request.body))
        allowed = "namespace" in review["spec"]["resourceAttributes"]
        return orjson.dumps({**review, "metadata": {}, "status": {"allowed": allowed}})


def test_who_is_asked_about_in_many_namespaces_neither_gives_up_nor_keeps_others_from_a_slow_member() -> None:
    async def scenario() -> None:
        client = Client(cast(Any, Slow()))
        access = MemberAccess(VirtualClock())
        ann, bob = UserInfo("ann"), UserInfo("bob")
        loop = asyncio.get_running_loop()
        spaces = [f"team-{number}" for number in range(72)]
        asking = asyncio.create_task(access.readable("m", client, Ask(ann, "list", PODS), spaces))
        await asyncio.sleep(0.5)
        started = loop.time()
        assert await access.allows("m", client, Ask(bob, "list", PODS)) is False
        assert loop.time() - started < 2
        assert await asking == frozenset(spaces)
        with pytest.raises(MemberUnavailable, match="more than 20 s"):
            await access.readable("m", client, Ask(bob, "list", PODS), [f"other-{number}" for number in range(100)])

    run_virtual(scenario)
