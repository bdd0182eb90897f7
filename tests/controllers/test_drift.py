"""Which changes in a member are its own: what an event shows beside what was written last."""

import orjson
import pytest

from karmada.controllers.drift import AppliedVersions, ObjectKey
from karmada.machinery.codec import TREE
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import GroupVersionResource

KEY, WORK = Key("default", "a"), Key("karmada-es-m1", "a")
TYPE = GroupVersionResource("", "v1", "configmaps")
WHICH = ObjectKey("m1", TYPE, KEY)
CHANGED = {"labels": {"a": "b"}}


def item(version, data="ours", ready="", **metadata):
    tree = {
        "metadata": {"name": "a", "resourceVersion": str(version), **metadata},
        "data": data,
        "status": {"is": ready},
    }
    return Item(KEY, "u", str(version), orjson.dumps(tree), TREE)


def unreadable(version):
    return Item(KEY, "u", str(version), b"{", TREE)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(item(4), item(5), False, id="our own write"),
        pytest.param(item(3), item(4, "theirs"), False, id="older than our write"),
        pytest.param(item(5), item(6, "theirs"), True, id="another write"),
        pytest.param(item(5), item(6, ready="yes"), False, id="status"),
        pytest.param(item(5), item(6, **CHANGED), True, id="labels"),
        pytest.param(item(5, generation=1), item(6, generation=1, ready="yes"), False, id="status by generation"),
        pytest.param(item(5, generation=1), item(6, "theirs", generation=2), True, id="spec by generation"),
        pytest.param(item(5, generation=1), item(6, "theirs", generation=1), False, id="the generation says no"),
        pytest.param(item(5, generation=1), item(6, generation=1, **CHANGED), True, id="labels of one generation"),
        pytest.param(item(5, generation=1), item(6, generation=2), False, id="defaults that change nothing"),
        pytest.param(item(4), item(7, "theirs"), True, id="undone while the watch was cut"),
        pytest.param(None, item(7), True, id="first seen in another state"),
        pytest.param(item(5), None, True, id="gone"),
        pytest.param(item(5), item(3), True, id="restored from a backup"),
        pytest.param(item(5), unreadable(6), True, id="cannot be read"),
    ],
)
def test_an_event_shows_drift_if_the_member_may_have_changed_more_than_status(old, new, expected):
    versions = AppliedVersions()
    versions.note(WHICH, "5", WORK)
    assert versions.drifted(WHICH, Change(old, new)) is expected


def test_what_was_never_written_does_not_drift_and_what_is_gone_drifts_once():
    versions = AppliedVersions()
    gone = Change(item(5), None)
    assert not versions.drifted(WHICH, gone)
    versions.record(WHICH, item(5).body, WORK)
    assert not versions.drifted(WHICH._replace(cluster="m2"), gone)
    assert versions.drifted(WHICH, gone)
    assert not versions.drifted(WHICH, gone)


def test_changes_of_status_are_followed_one_after_the_other():
    versions = AppliedVersions()
    versions.note(WHICH, "5", WORK)
    for version in range(5, 9):
        assert not versions.drifted(WHICH, Change(item(version), item(version + 1, ready=str(version))))
    assert versions.drifted(WHICH, Change(item(9), item(10, "theirs")))


@pytest.mark.parametrize("forget", [lambda v: v.forget(WHICH), lambda v: v.forget_cluster("m1")], ids=["it", "all"])
def test_what_is_deleted_on_purpose_is_no_drift(forget):
    versions, other = AppliedVersions(), WHICH._replace(cluster="m2")
    for which in (WHICH, other):
        versions.note(which, "5", WORK)
    forget(versions)
    forget(versions)
    change = Change(item(5), item(6, "theirs"))
    assert (versions.drifted(WHICH, change), versions.drifted(other, change)) == (False, True)


def test_a_complete_load_names_the_works_of_objects_that_it_does_not_show():
    versions = AppliedVersions()
    seen, unseen = WHICH._replace(key=Key("default", "b")), WHICH
    versions.note(seen, "5", Key("karmada-es-m1", "b"))
    versions.note(unseen, "5", WORK)
    assert versions.unseen("m1", TYPE, {seen.key: "shown"}.get) == [WORK]
    assert versions.unseen("m2", TYPE, {}.get) == []
