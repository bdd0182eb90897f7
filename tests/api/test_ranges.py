"""Numbers that do not fit their field are found wherever they are."""

import pytest

from karmada.api.ranges import out_of_range
from karmada.api.work.v1alpha2 import ResourceBinding

PLACES = {
    "a field": ({"replicas": 2**31}, "$.spec.replicas"),
    "an item of a list": ({"clusters": [{"name": "a"}, {"replicas": -(2**31) - 1}]}, "$.spec.clusters[1].replicas"),
    "deep in an optional part": (
        {"failover": {"application": {"gracePeriodSeconds": 2**40}}},
        "$.spec.failover.application.gracePeriodSeconds",
    ),
}


@pytest.mark.parametrize(("spec", "place"), PLACES.values(), ids=PLACES.keys())
def test_a_number_that_does_not_fit_is_named(spec: dict[str, object], place: str) -> None:
    assert out_of_range({"spec": spec}, ResourceBinding) == place


def test_what_fits_and_what_is_no_number_is_fine() -> None:
    spec = {"replicas": 2**31 - 1, "clusters": None, "failover": {"application": 7}, "unknown": 2**70}
    assert out_of_range({"spec": spec, "metadata": {"generation": 2**40}}, ResourceBinding) == ""
