"""Works that cannot be read any more: built anew by their bindings, or left to people."""

import orjson
import pytest
from tests.controllers.plane import CONFIG_MAPS, WORKS, on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.test_binding_works import begin, bind

from karmada.apiserver.storage.base import Value


async def corrupt(plane, **parts):
    """What a disk may do to a stored Work."""
    store, key = plane.hub.store, ("work.karmada.io", "works")
    (item,) = store.list(key).items
    tree = orjson.loads(item.body)
    tree["metadata"] |= parts.pop("metadata", {})
    head, tail = orjson.dumps(tree | parts).split(f'"{item.revision}"'.encode(), 1)
    await store.update(key, item.namespace, item.name, Value(head + b'"', b'"' + tail), item.index, item.revision)
    await plane.clock.sleep(5)


@pytest.mark.parametrize("part", ["spec", "status"])
def test_a_work_that_cannot_be_read_is_built_anew(part, failures):
    async def scenario(plane):
        await begin(plane, clusters=["m1"])
        (before,) = (await plane.client.resource(WORKS).list()).items
        await corrupt(plane, **{part: "garbage"})
        (after,) = (await plane.client.resource(WORKS).list()).items
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"] == before["spec"]
        assert not after.get("status")
        ((type_, _, kind, text),) = await recorded(plane, "SyncWorkFailed")
        assert (type_, kind) == ("Warning", "ConfigMap")
        assert text.endswith("and was built anew")

    on_a_plane(scenario, expected="index 'of-binding' cannot read")


def test_a_work_that_cannot_be_read_and_says_nothing_of_its_owner_is_left_alone(failures):
    async def scenario(plane):
        await begin(plane, clusters=["m1"])
        await corrupt(plane, spec="garbage", metadata={"annotations": {}})
        await plane.client.resource(CONFIG_MAPS).patch("settings", {"data": {"v": "2"}}, "default")
        await bind(plane, "m1", suspension={"dispatching": False})
        (item,) = plane.hub.store.list(("work.karmada.io", "works")).items
        assert orjson.loads(item.body)["spec"] == "garbage"
        texts = [text for *_, text in await recorded(plane, "SyncWorkFailed")]
        assert any("does not say whose it is: delete it by hand" in text for text in texts)

    on_a_plane(scenario, expected="index 'of-binding' cannot read")
