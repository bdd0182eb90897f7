"""When a change in a member is one of its own: also when a watch missed what happened in between."""

import orjson
import pytest

from karmada.controllers.drift import AppliedVersions, ObjectKey
from karmada.machinery.codec import TREE
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import GroupVersionResource

KEY = Key("default", "a")
WORK = Key("karmada-es-m1", "a")
WHICH = ObjectKey("m1", GroupVersionResource("", "v1", "configmaps"), KEY)


def item(version: int, data: str, status: str = "") -> Item[dict[str, object]]:
    tree = {"metadata": {"name": "a", "resourceVersion": str(version)}, "data": data, "status": {"is": status}}
    return Item(KEY, "u", str(version), orjson.dumps(tree), TREE)


@pytest.mark.parametrize(
    ("known", "old", "new", "expected"),
    [
        (5, item(4, "theirs"), item(5, "ours"), False),
        (5, item(5, "ours"), item(6, "theirs"), True),
        (5, item(5, "ours"), item(6, "ours", "ready"), False),
        (5, item(3, "theirs"), item(4, "theirs", "ready"), False),
        (5, item(4, "theirs"), item(7, "theirs"), True),
        (5, None, item(7, "ours"), True),
        (5, item(5, "ours"), None, True),
        (5, item(5, "ours"), item(3, "theirs"), True),
    ],
    ids=[
        "our own write",
        "another write",
        "status only",
        "older than our write",
        "our write was undone while the watch was cut",
        "first seen in another state",
        "gone",
        "restored from a backup",
    ],
)
def test_what_counts_as_drift(
    known: int, old: Item[dict[str, object]] | None, new: Item[dict[str, object]] | None, expected: bool
) -> None:
    versions = AppliedVersions()
    versions.note(WHICH, str(known), WORK)
    assert versions.drifted(WHICH, Change(old, new)) is expected


def test_changes_of_status_are_followed_one_after_the_other() -> None:
    versions = AppliedVersions()
    versions.note(WHICH, "5", WORK)
    for version in range(5, 9):
        change = Change(item(version, "ours", str(version)), item(version + 1, "ours", str(version + 1)))
        assert not versions.drifted(WHICH, change)
    assert versions.drifted(WHICH, Change(item(9, "ours", "9"), item(10, "theirs", "9")))


def test_what_was_written_into_a_cluster_that_is_gone_is_forgotten() -> None:
    versions, other = AppliedVersions(), WHICH._replace(cluster="m2")
    for which in (WHICH, other):
        versions.note(which, "5", WORK)
    versions.forget_cluster("m1")
    change = Change(item(5, "ours"), item(6, "theirs"))
    assert (versions.drifted(WHICH, change), versions.drifted(other, change)) == (False, True)
