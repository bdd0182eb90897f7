"""Selectable fields that are read together have the values that each has by itself."""

from karmada.apiserver.selectable import ValueAt, fields, together

READERS = {
    **fields("reason", "involvedObject.name", "involvedObject.uid", "spec.template.name", "spec.flag", "spec.count"),
    "status.replicas": ValueAt("status.replicas", "0"),
    "source": lambda obj: "own",
}
OBJECTS = (
    {},
    {"reason": "Synced", "involvedObject": {"name": "web"}, "spec": {"template": {"name": "t"}, "flag": False}},
    {"reason": None, "involvedObject": None, "spec": "text", "status": {"replicas": 3}},
    {"reason": 1, "involvedObject": {"uid": ""}, "spec": {"count": 0, "template": []}, "status": {"replicas": None}},
)


def test_fields_read_together_have_the_values_they_have_alone() -> None:
    read = together(READERS.values())
    for obj in OBJECTS:
        assert read(obj) == tuple(reader(obj) for reader in READERS.values())


def test_absent_fields_count_as_they_are_declared() -> None:
    assert together([ValueAt("status.replicas", "0"), ValueAt("spec.name")])({"spec": {}}) == ("0", "")
