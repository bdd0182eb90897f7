"""Objects of Works leave a member or stay in it, members' objects are followed, and keys are divided."""

from typing import NamedTuple

import pytest
from tests.controllers.plane import CLUSTERS, CONFIG_MAPS, NAMESPACES, WORKS, on_a_plane
from tests.controllers.test_failover import BINDINGS, RESOURCE
from tests.controllers.test_taint_turns import ROLE, WIDE
from tests.controllers.test_work_reports import settings, with_a_member

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.bindings import BindingKey, Bindings
from karmada.controllers.drift import AppliedVersions, ObjectKey
from karmada.controllers.member_deletion import MemberDeletion
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.metrics import PipelineMetrics
from karmada.controllers.sharding import by_binding, by_cluster, by_member
from karmada.machinery.controller import DONE, Controller
from karmada.machinery.informers.cache import Key
from karmada.machinery.sharding.ownership import Ownership, Tenure

COUNTED = ("success", "v1", "ConfigMap", "m1")
WORK = Key("karmada-es-m1", "w")


class Deleting(NamedTuple):
    """A member, and what takes objects out of it."""

    deletion: MemberDeletion
    metrics: PipelineMetrics
    versions: AppliedVersions
    members: object

    @property
    def there(self):
        return self.members.client.resource(CONFIG_MAPS)

    async def names(self):
        return [one["metadata"]["name"] for one in (await self.there.list()).items]

    def known(self):
        return self.versions.unseen("m1", CONFIG_MAPS, lambda key: None)


def deleting(members):
    metrics, versions = PipelineMetrics(), AppliedVersions()
    versions.note(ObjectKey("m1", CONFIG_MAPS, Key("default", "settings")), "1", WORK)
    return Deleting(MemberDeletion(metrics, versions), metrics, versions, members)


def test_an_object_is_deleted_counted_and_no_longer_expected():
    async def test(plane, members):
        world = deleting(members)
        await world.there.create(settings())
        assert world.known() == [WORK]
        await world.deletion.delete(settings(), members.connection)
        assert (await world.names(), world.known(), world.metrics.deleted) == ([], [], {COUNTED: 1})
        await world.deletion.delete(settings(), members.connection)
        assert world.metrics.deleted == {COUNTED: 1}, "it was gone"

    with_a_member(test)


@pytest.mark.parametrize("how", ["delete", "stop", "release"])
def test_an_object_that_is_not_ours_is_left_alone(how):
    async def test(plane, members):
        world = deleting(members)
        theirs = settings()
        theirs["metadata"]["labels"] = {"color": "blue"}
        made = await world.there.create(theirs)
        outcome = await getattr(world.deletion, how)(settings(), members.connection)
        assert await world.there.get("settings", "default") == made
        assert (outcome, world.metrics.deleted) == (True if how == "stop" else None, {})

    with_a_member(test)


@pytest.mark.parametrize("how", ["delete", "stop", "release"])
def test_an_object_of_a_kind_that_is_not_served_is_gone(how):
    async def test(plane, members):
        manifest = {"apiVersion": "nowhere.example/v1", "kind": "Thing", "metadata": {"name": "t"}}
        outcome = await getattr(deleting(members).deletion, how)(manifest, members.connection)
        assert outcome is (True if how == "stop" else None)

    with_a_member(test)


def test_an_object_has_stopped_when_it_is_gone_and_is_asked_to_once():
    async def test(plane, members):
        world = deleting(members)
        held = settings()
        held["metadata"]["finalizers"] = ["example.com/held"]
        await world.there.create(held)
        assert await world.deletion.stop(settings(), members.connection) is False
        going = await world.there.get("settings", "default")
        assert "deletionTimestamp" in going["metadata"]
        assert "foregroundDeletion" in going["metadata"]["finalizers"]
        assert await world.deletion.stop(settings(), members.connection) is False
        assert world.metrics.deleted == {COUNTED: 1}
        await world.there.patch("settings", {"metadata": {"finalizers": []}}, "default")
        assert await world.deletion.stop(settings(), members.connection) is True

    with_a_member(test)


def test_a_released_object_has_no_trace_of_us():
    async def test(plane, members):
        world = deleting(members)
        await world.there.create(settings(a="1"))
        await world.deletion.release(settings(), members.connection)
        found = await world.there.get("settings", "default")
        assert (found["metadata"].get("labels"), found["data"]) == (None, {"a": "1"})
        assert not found["metadata"].get("annotations")

    with_a_member(test)


def test_changes_in_a_member_are_handed_on_once_per_connection_and_until_the_cluster_goes():
    async def test(plane, members):
        seen, loaded = [], []
        clusters = plane.context.informers.of(Cluster)
        watches = MemberWatches(
            clusters,
            lambda cluster, type_, changes: seen.extend((cluster, type_, change.key.name) for change in changes),
            lambda cluster, type_, informer: loaded.append((cluster, type_, informer.has_synced)),
        )
        informer = members.connection.informer(CONFIG_MAPS)
        spaces = members.connection.informer(NAMESPACES)
        assert [watches.follow("m1", CONFIG_MAPS, informer) for _ in range(2)] == [True, False]
        assert watches.follow("m1", NAMESPACES, spaces)
        await plane.clock.sleep(2)
        await members.client.resource(CONFIG_MAPS).create(settings())
        await plane.clock.sleep(2)
        assert [name for _, type_, name in seen if type_ == CONFIG_MAPS] == ["settings"]
        assert sorted(loaded, key=str) == sorted((("m1", type_, True) for type_ in (CONFIG_MAPS, NAMESPACES)), key=str)
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"labels": {"color": "blue"}}})
        await plane.clock.sleep(2)
        assert not watches.follow("m1", CONFIG_MAPS, informer)
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": []}})
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(2)
        assert watches.follow("m1", CONFIG_MAPS, informer), "what followed the cluster was forgotten"

    with_a_member(test)


class Holder:
    """A lease that is held."""

    identity, leads, exclusive = "one", True, 60.0


@pytest.mark.parametrize("divide", [by_binding, by_member, by_cluster])
def test_a_shard_has_the_keys_of_what_it_is_divided_by(divide):
    async def test(plane):
        works, clusters = plane.context.informers.of(Work), plane.context.informers.of(Cluster)
        informers = Bindings(plane.context).informers
        for number in range(6):
            await plane.cluster(f"m{number}")
            await plane.client.resource(WORKS).create({"metadata": {"name": "w"}, "spec": {}}, f"karmada-es-m{number}")
            metadata = {"name": f"b{number}", "namespace": "default"}
            await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": RESOURCE}})
            await plane.client.resource(WIDE).create({"metadata": {"name": f"b{number}"}, "spec": {"resource": ROLE}})
        seen, ownership = [], Ownership(2)

        async def reconcile(key):
            seen.append(key)
            return DONE

        controller = Controller("divided", reconcile, needs=(works, clusters, *informers), clock=plane.clock)
        divide(plane.context, controller, ownership)
        plane.start(controller)
        await plane.clock.sleep(2)
        numbers = range(6)
        keys = {
            by_binding: {BindingKey(space, f"b{n}"): f"{space}/b{n}" for n in numbers for space in ("default", "")},
            by_member: {Key(f"karmada-es-m{n}", "w"): f"m{n}" for n in numbers},
            by_cluster: {f"m{n}": f"m{n}" for n in numbers},
        }[divide]
        for key in keys:
            controller.enqueue(key)
        await plane.clock.sleep(2)
        assert seen == []
        ownership.begin(Tenure(1, Holder()))
        await plane.clock.sleep(2)
        assert sorted(seen) == sorted(key for key, by in keys.items() if ownership.shard(by) == 1)
        assert 0 < len(seen) < len(keys)

    on_a_plane(test)
