import copy

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import merge_patch
from karmada.api.work.v1alpha1 import Work
from karmada.machinery.client import Client, type_of
from karmada.machinery.committer import ATTEMPTS, Absent, Committer, Created, MixedChange, Unchanged, Written
from karmada.machinery.errors import Conflict, Unavailable
from karmada.machinery.transport import GroupVersionResource, PatchType, Verb

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def config_map(name, **data):
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def with_data(**data):
    def decide(tree):
        tree = copy.deepcopy(tree)
        tree.setdefault("data", {}).update(data)
        return tree

    return decide


def committer(server):
    return Committer(Client(server).resource(CONFIG_MAPS))


async def test_nothing_is_written_when_nothing_changed(server):
    seen = server.put(CONFIG_MAPS, config_map("a", x="1"))
    assert await committer(server).commit(seen, with_data(x="1")) == Unchanged(seen)
    assert server.requests == []


async def test_the_patch_holds_the_difference_and_its_guard_and_nothing_else(server):
    seen = server.put(CONFIG_MAPS, config_map("a", x="1", y="2"))
    outcome = await committer(server).commit(seen, with_data(x="3"))
    assert isinstance(outcome, Written)
    assert outcome.value["data"] == {"x": "3", "y": "2"}
    [request] = server.requests
    assert request.body == {
        "data": {"x": "3"},
        "metadata": {"uid": seen["metadata"]["uid"], "resourceVersion": seen["metadata"]["resourceVersion"]},
    }


async def test_nulls_in_lists_are_sent_as_operations_which_alone_can_say_them(server):
    seen = server.put(CONFIG_MAPS, config_map("a", x="1"))
    items = [{"type": "Ready", "lastProbeTime": None}]
    outcome = await committer(server).commit(seen, lambda tree: tree | {"items": items})
    assert isinstance(outcome, Written)
    assert outcome.value["items"] == items
    [request] = server.requests
    assert request.patch_type == PatchType.JSON
    assert {"op": "add", "path": "/items", "value": items} in request.body
    guard = {"op": "add", "path": "/metadata/resourceVersion", "value": seen["metadata"]["resourceVersion"]}
    assert guard in request.body


async def test_a_cache_that_has_not_seen_our_last_write_does_not_make_a_decision_look_done(server):
    stale = server.put(CONFIG_MAPS, config_map("a", x="1"))
    writer = committer(server)
    await writer.commit(stale, with_data(x="2"))
    outcome = await writer.commit(stale, with_data(x="1"))
    assert isinstance(outcome, Written)
    assert outcome.value["data"] == {"x": "1"}


async def test_nothing_is_read_when_the_cache_has_caught_up(server):
    writer = committer(server)
    fresh = (await writer.commit(server.put(CONFIG_MAPS, config_map("a", x="1")), with_data(x="2"))).value
    server.requests.clear()
    assert await writer.commit(fresh, with_data(x="2")) == Unchanged(fresh)
    assert server.requests == []


async def test_an_object_is_not_kept_because_a_cache_shows_it_as_it_was(server):
    stale = server.put(CONFIG_MAPS, config_map("a", x="1"))
    writer = committer(server)
    await writer.commit(stale, with_data(x="2"))
    outcome = await writer.remove(stale, lambda tree: tree["data"]["x"] == "2")
    assert isinstance(outcome, Absent)
    assert server.requests[-1].verb is Verb.DELETE


async def test_a_conflict_is_decided_again_on_the_present_state(server):
    seen = server.put(CONFIG_MAPS, config_map("a", counter="1"))
    server.put(CONFIG_MAPS, config_map("a", counter="10", other="kept"))

    def increment(tree):
        return with_data(counter=str(int(tree["data"]["counter"]) + 1))(tree)

    outcome = await committer(server).commit(seen, increment)
    assert outcome.value["data"] == {"counter": "11", "other": "kept"}
    assert [request.verb for request in server.requests] == [Verb.PATCH, Verb.GET, Verb.PATCH]


async def test_a_list_somebody_else_extended_is_not_replaced(server):
    seen = server.put(CONFIG_MAPS, config_map("a") | {"taints": ["mine"]})
    server.put(CONFIG_MAPS, config_map("a") | {"taints": ["mine", "theirs"]})

    def without_mine(tree):
        return tree | {"taints": [taint for taint in tree["taints"] if taint != "mine"]}

    outcome = await committer(server).commit(seen, without_mine)
    assert outcome.value["taints"] == ["theirs"]


async def test_a_conflict_that_makes_the_change_needless_writes_nothing(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.put(CONFIG_MAPS, config_map("a", x="1"))
    outcome = await committer(server).commit(seen, with_data(x="1"))
    assert isinstance(outcome, Unchanged)
    assert [request.verb for request in server.requests] == [Verb.PATCH, Verb.GET]


async def test_endless_conflicts_are_raised_in_the_end(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))

    class Contended:
        async def send(self, request):
            if request.verb is Verb.PATCH:
                raise Conflict("changed again")
            return await server.send(request)

    with pytest.raises(Conflict):
        await committer(Contended()).commit(seen, with_data(x="1"))
    assert len(server.requests) == ATTEMPTS - 1


@pytest.mark.parametrize("recreated", [False, True], ids=["deleted", "recreated under its name"])
async def test_a_vanished_object_is_left_alone(server, recreated):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.remove(CONFIG_MAPS, "a", "default")
    if recreated:
        server.put(CONFIG_MAPS, config_map("a", new="one"))
    assert await committer(server).commit(seen, with_data(x="1")) == Absent()
    if recreated:
        assert server.objects[CONFIG_MAPS, "default", "a"]["data"] == {"new": "one"}


async def test_status_goes_to_its_subresource_and_never_together_with_the_rest(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    outcome = await committer(server).commit(seen, lambda tree: tree | {"status": {"ready": True}})
    assert isinstance(outcome, Written)
    assert server.requests[-1].subresource == "status"
    with pytest.raises(MixedChange, match="status and"):
        await committer(server).commit(outcome.value, lambda tree: tree | {"status": {}, "data": {"x": "1"}})


async def test_a_decision_must_not_answer_with_another_object(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    with pytest.raises(ValueError, match="was answered with"):
        await committer(server).commit(seen, lambda tree: config_map("b"))


async def test_an_unknown_outcome_is_raised_not_repeated(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.failures = [Unavailable("connection reset")]
    with pytest.raises(Unavailable):
        await committer(server).commit(seen, with_data(x="1"))
    assert len(server.requests) == 1


async def test_after_an_unknown_outcome_a_cache_is_not_believed_that_nothing_is_left_to_do(server):
    """The write happened, its answer was lost, and the cache still shows the state before it."""
    committing = committer(server)
    seen = server.put(CONFIG_MAPS, config_map("a", x="ours"))
    server.put(CONFIG_MAPS, {**seen, "data": {"x": "lost"}})
    server.failures = [Unavailable("connection reset")]
    with pytest.raises(Unavailable):
        await committing.commit(seen, with_data(x="lost"))
    outcome = await committing.commit(seen, with_data(x="ours"))
    assert isinstance(outcome, Written)
    assert outcome.value["data"] == {"x": "ours"}


async def test_a_write_that_turns_out_to_be_there_already_makes_older_states_outdated(server):
    committing = committer(server)
    seen = server.put(CONFIG_MAPS, config_map("a", x="ours"))
    server.put(CONFIG_MAPS, {**seen, "data": {"x": "lost"}})
    assert isinstance(await committing.commit(seen, with_data(x="lost")), Unchanged)
    assert isinstance(await committing.commit(seen, with_data(x="ours")), Written)


async def test_structs_keep_fields_this_version_does_not_know(server):
    works = type_of(Work)
    body = {"metadata": {"name": "w", "namespace": "es"}, "spec": {"workload": {}, "fromTheFuture": 1}}
    server.put(works, body)
    resource = Client(server).of(Work)
    seen = await resource.get("w", "es")
    labelled = msgspec.structs.replace(seen.metadata, labels={"a": "b"})
    await Committer(resource).commit(seen, lambda work: msgspec.structs.replace(work, metadata=labelled))
    stored = server.objects[works, "es", "w"]
    assert stored["spec"]["fromTheFuture"] == 1
    assert stored["metadata"]["labels"] == {"a": "b"}


async def test_a_field_of_a_struct_that_gets_its_default_back_is_removed(server):
    works = type_of(Work)
    labels = {"a": "b"}
    server.put(works, {"metadata": {"name": "w", "namespace": "es", "labels": labels}, "spec": {"workload": {}}})
    resource = Client(server).of(Work)
    seen = await resource.get("w", "es")
    bare = msgspec.structs.replace(seen.metadata, labels={}, annotations={"c": "d"})
    await Committer(resource).commit(seen, lambda work: msgspec.structs.replace(work, metadata=bare))
    guard = {"uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version}
    assert server.requests[-1].body == {"metadata": {"labels": None, "annotations": {"c": "d"}} | guard}


@pytest.mark.parametrize("cached", [True, False], ids=["seen in the cache", "not in the cache yet"])
async def test_ensure_updates_what_exists(server, cached):
    existing = server.put(CONFIG_MAPS, config_map("a", x="old", kept="yes"))

    def decide(tree):
        return config_map("a", x="new") if tree is None else with_data(x="new")(tree)

    outcome = await committer(server).ensure("a", "default", decide, existing if cached else None)
    assert isinstance(outcome, Written)
    assert outcome.value["data"] == {"x": "new", "kept": "yes"}


@pytest.mark.parametrize("cached", [True, False], ids=["stale cache", "not in the cache"])
async def test_ensure_creates_what_is_missing(server, cached):
    stale = server.put(CONFIG_MAPS, config_map("a"))
    server.remove(CONFIG_MAPS, "a", "default")

    def decide(tree):
        return config_map("a", x="new") if tree is None else with_data(x="new")(tree)

    outcome = await committer(server).ensure("a", "default", decide, stale if cached else None)
    assert isinstance(outcome, Created)


async def test_ensure_leaves_alone_what_is_not_wanted(server):
    assert await committer(server).ensure("a", "default", lambda tree: None) == Absent()
    assert server.requests == []


async def test_remove_asks_again_when_the_object_changed(server):
    seen = server.put(CONFIG_MAPS, config_map("a", wanted="no"))
    present = server.put(CONFIG_MAPS, config_map("a", wanted="yes"))
    outcome = await committer(server).remove(seen, lambda tree: tree["data"]["wanted"] == "no")
    assert outcome == Unchanged(present)
    server.put(CONFIG_MAPS, config_map("a", wanted="no", again="yes"))
    assert await committer(server).remove(seen, lambda tree: tree["data"]["wanted"] == "no") == Absent()
    assert not server.objects


async def test_remove_never_hits_a_new_object_of_the_same_name(server):
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.remove(CONFIG_MAPS, "a", "default")
    server.put(CONFIG_MAPS, config_map("a"))
    assert await committer(server).remove(seen, lambda tree: True) == Absent()
    assert server.objects


VALUES = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("xyz"), VALUES), st.dictionaries(st.sampled_from("xyz"), VALUES))
async def test_what_is_written_is_what_was_decided(before, after):
    stored = {"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"}, "data": before}

    class OneObject:
        async def send(self, request):

            return orjson.dumps(merge_patch.apply(stored, request.body))

    outcome = await committer(OneObject()).commit(stored, lambda tree: tree | {"data": after})
    assert merge_patch.same_json(outcome.value["data"], after)
