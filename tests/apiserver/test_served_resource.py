"""What the store indexes of an object is the same whether it is read as a whole or by its metadata alone."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.served_resource import Served, metadata_index

NAMES = st.text(max_size=12)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
METADATA = st.fixed_dictionaries(
    {"name": NAMES, "uid": NAMES},
    optional={
        "labels": st.one_of(st.none(), st.dictionaries(NAMES, NAMES, max_size=3)),
        "ownerReferences": st.one_of(st.none(), st.lists(st.fixed_dictionaries({"uid": NAMES, "kind": NAMES}))),
        "managedFields": st.lists(st.dictionaries(NAMES, NUMBERS, max_size=2), max_size=2),
    },
)
LABELLED = Served(ResourceType("apps", "v1", "deployments", "Deployment", True, Schema("object")))


@given(METADATA, st.dictionaries(NAMES, st.one_of(NAMES, NUMBERS, st.lists(NAMES))))
def test_an_object_is_indexed_by_its_metadata_as_by_all_of_it(metadata, spec):
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    assert not LABELLED.selects
    assert metadata_index(LABELLED.encode(obj).at(7)) == LABELLED.index(obj)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"{}", b'{"metadata":{"uid":"a"}', b'{"metadata":{"uid":"a"},"spec":{"a":}}', b"\xff\xfe"]
)
def test_an_object_that_cannot_be_read_has_no_index(body):
    with pytest.raises(ValueError):
        metadata_index(body)


def test_the_same_label_keys_are_kept_once():
    body = orjson.dumps({"metadata": {"uid": "a", "labels": {"resourcebinding.karmada.io/permanent-id": "b"}}})
    one, other = (list(metadata_index(body).labels) for _ in range(2))
    assert one[0] is other[0]
