import pytest

from karmada.apiserver.resources import same_but

A = {"kind": "A", "spec": {"n": 1}, "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("new", "old", "same"),
    [
        (A, A, True),
        ({**A, "metadata": {"name": "b"}}, A, True),
        ({**A, "spec": {"n": 2}}, A, False),
        ({**A, "data": None}, A, True),
        (A, {**A, "data": None}, True),
        ({**A, "data": {}}, A, False),
        (A, {**A, "data": {}}, False),
        ({**A, "more": None}, {**A, "data": {}}, False),
        ({key: A[key] for key in ("kind", "spec")}, A, True),
    ],
    ids=["same", "apart", "changed", "null-added", "null-gone", "added", "gone", "gone-beside-null", "apart-gone"],
)
def test_members_are_compared_but_for_some(new, old, same):
    assert same_but(new, old, ("metadata",)) is same
