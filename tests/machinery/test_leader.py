import asyncio

import pytest

from karmada.api.version import VERSION
from karmada.machinery.client import Client
from karmada.machinery.errors import ServerError, Timeout, Unavailable
from karmada.machinery.leader import LEASES, LeaderElector, LeadershipLost, NotLeader
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.testing.loop import VirtualClock, run_virtual

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def elector(server, identity):
    return LeaderElector(Client(server), "scheduler", "karmada-system", identity, clock=VirtualClock())


def lease(server):
    return server.objects[LEASES, "karmada-system", "scheduler"]["spec"]


def write(name):
    body = {"metadata": {"name": name, "namespace": "default"}}
    return Request(Verb.CREATE, CONFIG_MAPS, "default", body=body)


async def forever():
    await asyncio.Event().wait()


def now():
    return asyncio.get_running_loop().time()


def test_one_leads_and_the_other_waits_until_the_lease_runs_out(server):
    async def main():
        first, second = elector(server, "first"), elector(server, "second")
        one = asyncio.create_task(first.run(forever))
        await asyncio.sleep(1)
        two = asyncio.create_task(second.run(forever))
        await asyncio.sleep(60)
        assert first.leads
        assert not second.leads
        one.cancel()
        await asyncio.gather(one, return_exceptions=True)
        assert "holderIdentity" not in lease(server)
        await asyncio.sleep(5)
        assert second.leads
        assert lease(server)["holderIdentity"] == "second"
        assert lease(server)["leaseTransitions"] == 1
        two.cancel()

    run_virtual(main)


def test_a_leader_writes_its_version_on_the_lease_and_keeps_what_others_wrote(server):
    async def main():
        first = elector(server, "first")
        await first._try_hold()
        held = server.objects[LEASES, "karmada-system", "scheduler"]["metadata"]
        assert held["annotations"] == {"karmada.io/component-version": VERSION}
        held["annotations"]["note"] = "mine"
        await first._try_hold()
        held = server.objects[LEASES, "karmada-system", "scheduler"]["metadata"]
        assert held["annotations"] == {"karmada.io/component-version": VERSION, "note": "mine"}

    run_virtual(main)


def test_a_crashed_leader_is_replaced_after_the_lease_duration(server):
    async def main():
        first, second = elector(server, "first"), elector(server, "second")
        await first._try_hold()
        crashed_at = now()
        two = asyncio.create_task(second.run(forever))
        for _ in range(100):
            if second.leads:
                break
            await asyncio.sleep(0.5)
        assert 15 <= now() - crashed_at <= 20
        two.cancel()

    run_virtual(main)


@pytest.mark.parametrize("silent", [False, True], ids=["server refuses", "server does not answer"])
def test_a_leader_cut_off_from_the_server_stops_before_anybody_can_take_over(server, silent):
    async def main():
        class CutOff:
            broken = False

            async def send(self, request):
                if self.broken:
                    if silent:
                        await forever()
                    raise Unavailable("no route")
                return await server.send(request)

        link = CutOff()
        first, second = elector(link, "first"), elector(server, "second")
        ended = []

        async def lead():
            try:
                await forever()
            finally:
                ended.append(now())

        one = asyncio.create_task(first.run(lead))
        two = asyncio.create_task(second.run(forever))
        await asyncio.sleep(10)
        leader = first if first.leads else second
        if leader is second:
            pytest.fail("the first candidate should lead")
        link.broken = True
        while not second.leads:
            assert not (first.leads and second.leads)
            await asyncio.sleep(0.1)
        assert ended
        assert ended[0] < now()
        with pytest.raises(LeadershipLost):
            await one
        two.cancel()

    run_virtual(main)


def test_fenced_writes_work_only_while_leading(server):
    async def main():
        candidate = elector(server, "first")
        fenced = candidate.fenced(server)
        with pytest.raises(NotLeader):
            await fenced.send(write("too-early"))
        await fenced.send(Request(Verb.LIST, CONFIG_MAPS))
        await candidate._try_hold()
        await fenced.send(write("in-time"))
        await asyncio.sleep(10.5)
        with pytest.raises(NotLeader):
            await fenced.send(write("too-late"))
        assert [key[2] for key in server.objects if key[0] == CONFIG_MAPS] == ["in-time"]

    run_virtual(main)


def test_a_fenced_write_ends_before_the_lease_does(server):
    async def main():
        class Slow:
            async def send(self, request):
                await forever()

        candidate = elector(server, "first")
        await candidate._try_hold()
        await asyncio.sleep(9)
        with pytest.raises(Timeout):
            await candidate.fenced(Slow()).send(write("slow"))
        assert now() <= 15

    run_virtual(main)


def test_failures_to_renew_are_survived_within_the_deadline(server):
    async def main():
        candidate = elector(server, "first")
        task = asyncio.create_task(candidate.run(forever))
        await asyncio.sleep(3)
        server.failures = [ServerError("hiccup")] * 2
        await asyncio.sleep(20)
        assert candidate.leads
        task.cancel()

    run_virtual(main)


def test_the_result_of_leading_is_passed_on(server):
    async def main():
        async def fail():
            raise ValueError("bug")

        with pytest.raises(ValueError, match="bug"):
            await elector(server, "first").run(fail)
        assert "holderIdentity" not in lease(server)

    run_virtual(main)
