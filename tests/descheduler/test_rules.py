"""How many replicas are taken back: what waits in vain, if the cluster was given that many."""

import pytest

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.descheduler.rules import descheduled


@pytest.mark.parametrize(
    ("waiting", "left"),
    [(0, 4), (1, 3), (4, 1), (5, 4), (-1, 4)],
    ids=["none", "one", "all but the ready", "more than assigned", "nobody knows"],
)
def test_only_what_was_assigned_can_wait(waiting: int, left: int) -> None:
    binding = from_tree(
        {
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "clusters": [{"name": "m", "replicas": 4}],
            },
            "status": {"aggregatedStatus": [{"clusterName": "m", "status": {"readyReplicas": 1}}]},
        },
        ResourceBinding,
    )
    outcome = descheduled(binding, {"m": waiting})
    assert outcome.clusters[0].replicas == left
    assert sum(one.replicas for one in outcome.given) == 4 - left
