"""A broken member as its clients see it, in the same process and over HTTPS."""

import asyncio

import pytest
from tests.simulator.conftest import deployment

from karmada.api import yaml
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Forbidden, ServerError, Timeout, Unavailable
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.simulator.control import changed
from karmada.simulator.faults import Faults
from karmada.simulator.interference import WebhookRule
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec
from karmada.simulator.workloads.kinds import DEPLOYMENTS, NODES, PODS


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param({"down": True}, Unavailable, id="down"),
        pytest.param({"hanging": True}, Timeout, id="hanging"),
        pytest.param({"rejecting": 500}, ServerError, id="rejecting"),
        pytest.param({"certificate_expired": True}, Unavailable, id="certificate expired"),
    ],
)
def test_a_fault_fails_requests_and_its_end_mends_them(act, fault, error):
    async def scene(actor):
        await actor.member.change_faults(**fault)
        with pytest.raises(error):
            await actor.client.resource(NODES).list()
        assert len((await actor.member.inside.resource(NODES).list()).items) == 3
        await actor.member.set_faults(Faults())
        assert len((await actor.client.resource(NODES).list()).items) == 3

    act(scene)


def test_a_slow_member_answers_late(act):
    async def scene(actor):
        await actor.member.change_faults(slow_milliseconds=2500)
        before = actor.clock.monotonic()
        await actor.client.resource(NODES).list()
        assert actor.clock.monotonic() - before == pytest.approx(2.5)

    act(scene)


def test_watches_break_when_the_member_goes_down(act):
    async def scene(actor):
        async with actor.client.resource(PODS).watch() as stream:
            await actor.member.change_faults(down=True)
            with pytest.raises(Unavailable):
                await anext(stream)

    act(scene)


def test_what_waits_for_a_hanging_member_goes_on_when_it_wakes_up(act):
    async def scene(actor):
        async with actor.client.resource(PODS).watch() as open_before:
            await actor.member.change_faults(hanging=True)
            began = actor.clock.monotonic()
            making = asyncio.ensure_future(actor.create(DEPLOYMENTS, deployment()))
            watching = asyncio.ensure_future(_first(actor.client.resource(NODES)))
            waiting = asyncio.ensure_future(anext(open_before))
            await actor.clock.sleep(5)
            assert not any(task.done() for task in (making, watching, waiting))
            await actor.member.change_faults(hanging=False)
            await making, await watching, await waiting
            assert actor.clock.monotonic() - began < 6
            await actor.available("web", 3, 5)

    act(scene)


def test_what_waits_for_a_hanging_member_fails_when_it_goes_down(act):
    async def scene(actor):
        await actor.member.change_faults(hanging=True)
        making = asyncio.ensure_future(actor.create(DEPLOYMENTS, deployment()))
        await actor.clock.sleep(5)
        await actor.member.change_faults(down=True)
        with pytest.raises(Unavailable):
            await making

    act(scene)


async def _first(resource):
    async with resource.watch() as stream:
        return await anext(stream)


def test_workloads_go_on_behind_a_broken_api(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment())
        await actor.member.change_faults(down=True)
        await actor.available("web", 3)

    act(scene)


def test_webhooks_in_the_member_change_and_refuse_objects(act):
    async def scene(actor):
        merge = WebhookRule("label", "deployments.apps", merge={"metadata": {"labels": {"by": "webhook"}}})
        reject = WebhookRule("policy", "pods", "default", reject="not here")
        await actor.member.change_faults(webhooks=(merge, reject))
        made = await actor.create(DEPLOYMENTS, deployment())
        assert made["metadata"]["labels"] == {"by": "webhook"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
        with pytest.raises(Forbidden, match='admission webhook "policy" denied the request: not here'):
            await actor.create(PODS, pod | {"spec": {"containers": [{"name": "c", "image": "x"}]}})

    act(scene)


def test_a_skewed_clock_shows_in_timestamps(act):
    async def scene(actor):
        await actor.member.change_faults(clock_skew_seconds=86400)
        made = await actor.create(DEPLOYMENTS, deployment())
        assert made["metadata"]["creationTimestamp"].startswith("2023-11-15")

    act(scene)


def test_faults_are_changed_by_merge_patches():
    faults = changed(Faults(down=True, slow_milliseconds=5), {"down": None, "rejecting": 503})
    assert faults == Faults(slow_milliseconds=5, rejecting=503)
    with pytest.raises(ValueError, match="status code between 500 and 599"):
        changed(Faults(), {"rejecting": 404})


async def test_over_https_the_port_survives_and_certificates_expire():
    async with Member(MemberSpec("m")) as member:
        await member.listen()
        target = from_bytes(yaml.dump(member.kubeconfig).encode()).target()

        async def nodes() -> int:
            client = Client(HttpTransport(target))
            try:
                return len((await client.resource(NODES).within(5).list()).items)
            finally:
                await client.close()

        assert await nodes() == 1
        for fault in ({"down": True}, {"certificate_expired": True}, {"rejecting": 503}):
            await member.set_faults(Faults(**fault))
            with pytest.raises(ApiError):
                await nodes()
        await member.set_faults(Faults())
        assert await nodes() == 1


async def test_over_https_a_hanging_member_holds_requests_and_watches_until_it_wakes_up():
    async with Member(MemberSpec("m")) as member:
        await member.listen()
        client = Client(HttpTransport(from_bytes(yaml.dump(member.kubeconfig).encode()).target()))
        try:
            async with client.resource(DEPLOYMENTS).watch() as stream:
                await member.change_faults(hanging=True)
                listing = asyncio.ensure_future(client.resource(NODES).list())
                watching = asyncio.ensure_future(anext(stream))
                await member.inside.resource(DEPLOYMENTS).create(deployment())
                finished, _ = await asyncio.wait((listing, watching), timeout=0.2)
                assert not finished
                await member.change_faults(hanging=False)
                assert len((await listing).items) == 1
                assert (await watching)[0].type == "ADDED"
        finally:
            await client.close()
