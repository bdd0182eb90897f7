"""The control plane's etcd is lost and comes back from a snapshot, while components and agents go on running."""

import asyncio
from pathlib import Path

import pytest
from tests.engine.world import Counting
from tests.federation.conftest import Federation

from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope
from karmada.testing.stage.federation import WORKS, Stage, eventually
from karmada.testing.stage.servers import Etcd
from karmada.testing.stage.snapshots import BUMP, restore, save

from .conftest import CONFIG_MAPS, DEPLOYMENTS, POLICIES
from .steps import PATIENCE, arrive, create, policy
from .test_operator_in_processes import Writer

WRITES = 20
APPS = tuple(f"before-{number}" for number in range(5))
DELETED, LATER = APPS[0], "later"


async def uids(members: dict[str, Client]) -> dict[tuple[str, str], str]:
    """Of every Deployment in members."""
    found = {
        name: (await member.resource(DEPLOYMENTS).list(Scope("default"))).items for name, member in members.items()
    }
    return {(name, one["metadata"]["name"]): one["metadata"]["uid"] for name, items in found.items() for one in items}


async def absent(members: dict[str, Client], name: str) -> None:
    async def gone() -> bool:
        return all(app != name for _, app in await uids(members))

    await eventually(gone, PATIENCE)


async def snapshot_while_writing(stage: Stage, hub: Client, file: Path) -> set[str]:
    """Take a snapshot while objects are written; those that were acknowledged before it began."""
    writer = Writer(hub)
    writing = asyncio.create_task(writer.run())

    async def wrote(more_than: int) -> bool:
        return len(writer.acknowledged) > more_than

    try:
        await eventually(lambda: wrote(WRITES), PATIENCE)
        acknowledged = set(writer.acknowledged)
        await save(stage.etcd, file)
        await eventually(lambda: wrote(len(acknowledged)), PATIENCE)
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    return acknowledged


async def test_nothing_acknowledged_before_a_snapshot_is_lost_and_members_keep_what_they_have(
    stage: Stage, federation: Federation, members: dict[str, Client], tmp_path: Path
) -> None:
    hub, snapshot = federation.hub, tmp_path / "snapshot.db"
    await hub.resource(POLICIES).create(policy())
    for name in APPS:
        await create(hub, name)
    await arrive(members, *APPS)
    acknowledged = await snapshot_while_writing(stage, hub, snapshot)
    await create(hub, LATER)
    await arrive(members, LATER)
    await hub.resource(DEPLOYMENTS).delete(DELETED, "default")
    await absent(members, DELETED)
    before = await uids(members)

    restored = Etcd(tmp_path / "restored")
    await restore(snapshot, restored)
    async with Counting(members["member1"], DEPLOYMENTS) as pushed, Counting(members["member3"], DEPLOYMENTS) as pulled:
        await stage.move(restored)
        maps = await hub.resource(CONFIG_MAPS).list(Scope("default"))
        assert acknowledged <= {one["metadata"]["name"] for one in maps.items}
        assert int(maps.resource_version) > BUMP
        await arrive(members, DELETED)  # The snapshot knows nothing of its deletion.
        await stage.ready()
        await create(hub, "now")
        await arrive(members, "now")
        with pytest.raises(NotFound):
            await hub.resource(DEPLOYMENTS).get(LATER, "default")
        after = await uids(members)
        assert {key: after[key] for key in before} == before
        for counting in (pushed, pulled):
            assert counting.comings == {("ADDED", f"default/{name}"): 1 for name in (DELETED, "now")}
            assert set(counting.generations.values()) == {1}

    await create(hub, LATER)  # Applied again, it is adopted and not replaced.

    async def adopted() -> bool:
        works = [one for one in (await hub.resource(WORKS).list()).items if one["metadata"]["name"].startswith(LATER)]
        conditions = [condition for one in works for condition in one["status"]["conditions"]]
        return len([one for one in conditions if one["type"] == "Applied" and one["status"] == "True"]) == len(members)

    await eventually(adopted, PATIENCE)
    assert {key: uid for key, uid in (await uids(members)).items() if key[1] == LATER} == {
        key: uid for key, uid in before.items() if key[1] == LATER
    }
