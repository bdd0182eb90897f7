"""What a restart reads: the bodies of a collection lie side by side, and no object is decoded before it is selected."""

from pathlib import Path

import orjson

from karmada.apiserver.served_resource import Served
from karmada.apiserver.storage.base import Record, Snapshot
from karmada.apiserver.watchcache import Index
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.search.database import Database, Write
from karmada.search.kinds import Kinds
from karmada.search.late_index import LateIndex

PODS = GroupVersionResource("", "v1", "pods")


def body(name: str, day: int) -> bytes:
    created = f"2026-01-{day:02d}T00:00:00Z"
    return orjson.dumps({"metadata": {"name": name, "creationTimestamp": created, "labels": {"app": name}}})


def test_the_bodies_of_a_collection_lie_side_by_side_whenever_they_were_created_and_written(tmp_path: Path) -> None:
    made = Database(tmp_path / "search.sqlite")
    made.begin()
    first, second = (made.claim(cluster, PODS, "Pod", "")[0] for cluster in ("member1", "member2"))
    for day in range(1, 20):
        for collection in (first, second):
            made.put(collection, [Write("default", f"p{day}", day, body(f"p{day}", 20 - day))])
    made.put(first, [Write("default", "p3", 30, body("p3", 21)), Write("default", "p4", 31, None)])
    for collection in (first, second):
        made.whole(collection, 31)
    made.commit()
    owners = [row[0] for row in made.read("select id >> 32 from bodies order by id", ())]
    assert owners == [first] * 18 + [second] * 19
    made.begin()
    _, kept = made.claim("member1", PODS, "Pod", "")
    made.commit()
    wanted = {f"p{day}": (day, 20 - day) for day in range(1, 20) if day != 4} | {"p3": (30, 21)}
    assert kept is not None
    assert Snapshot(sorted(kept.records), kept.revision) == Snapshot(
        sorted(Record(f"/core/pods/default/{name}", body(name, day), at) for name, (at, day) in wanted.items()), 31
    )
    made.begin()
    made.remove(first)
    made.commit()
    assert {row[0] for row in made.read("select id >> 32 from bodies", ())} == {second}
    made.close()


class Counting(Served):
    """Counts what is indexed."""

    count = 0

    def index(self, obj: JSONObject) -> Index:
        self.count += 1
        return super().index(obj)


def test_an_object_is_indexed_once_and_not_before_somebody_asks() -> None:
    served = Counting(Kinds()(ApiResource(PODS, "Pod", True, frozenset())).type)
    late = LateIndex(served, body("a", 1))
    assert served.count == 0
    assert (late.labels, late.uid, late.owners, late.fields.get("spec.nodeName", "")) == ({"app": "a"}, "", (), "")
    assert served.count == 1


def test_an_object_that_cannot_be_read_matches_no_selector() -> None:
    late = LateIndex(Kinds()(ApiResource(PODS, "Pod", True, frozenset())), b"no object")
    assert (late.labels, late.uid, late.owners) == ({}, "", ())
