"""What `check` makes of facts."""

import pytest

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.explain.check.collection import everything
from karmada.explain.check.findings import Finding, leases, skew
from karmada.explain.members import Members
from karmada.machinery.client import Client


class FullDisk(MemoryStorage):
    """A storage that cannot be written to any more."""

    full = False

    async def check(self) -> None:
        if self.full:
            raise StorageFailed("the disk is full")


async def test_a_control_plane_that_cannot_write_is_not_ready() -> None:
    storage = FullDisk()
    async with ApiServer(ApiServerOptions(storage=storage)) as server:
        client = Client(server.direct())
        members = Members(lambda name: client, 1.0)

        async def readiness() -> Finding:
            return next(one for one in await everything(client, members, {}, "default") if one.what == "readiness")

        assert (await readiness()).state == "ok"
        storage.full = True
        found = await readiness()
        assert found.state == "broken"
        assert found.said == "fails: the control plane cannot write to its storage"
        assert "Free space on its disk" in found.remedy


def lease(**spec: object) -> dict[str, object]:
    return {"metadata": {"name": "karmada-scheduler"}, "spec": {"renewTime": 100.0} | spec}


def test_a_component_is_led_by_a_name_or_has_no_leader() -> None:
    led, vacant, released = (
        leases([item], 110.0, lambda when: when)[0]
        for item in (lease(holderIdentity="host_1"), lease(), lease(holderIdentity=""))
    )
    assert led == Finding("karmada-scheduler", "is led by host_1")
    assert vacant == released
    assert (vacant.state, vacant.said) == ("warning", "has no leader: the last one gave up its lease 10 s ago")


@pytest.mark.parametrize(
    ("apart", "expected", "state"),
    [
        (-1.2, "agrees with this machine", "ok"),
        (-9.0, "agrees with this machine (-9 s)", "ok"),
        (60.0, "is +60 s off", "broken"),
    ],
    ids=["whole seconds", "seconds", "a minute"],
)
def test_clocks_that_are_a_second_apart_agree(apart, expected, state):
    found = skew("member1", 1000.0 + apart, 1000.0)
    assert (found.what, found.said, found.state) == ("clock of member1", expected, state)
