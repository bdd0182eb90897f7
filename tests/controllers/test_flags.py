"""What the flags of the controller manager come to."""

from dataclasses import fields

from karmada.controllers.context import Concurrency
from karmada.controllers.flags import options_of, parser

KINDS = {
    "templates": ["resource-template"],
    "policies": ["propagation-policy", "cluster-propagation-policy"],
    "bindings": ["resourcebinding", "clusterresourcebinding"],
    "works": ["work"],
    "dependencies": ["dependent-resource"],
    "clusters": ["cluster"],
    "namespaces": ["namespace"],
}


def test_every_flag_for_workers_counts():
    assert [field.name for field in fields(Concurrency)] == list(KINDS)
    for name, kinds in KINDS.items():
        for kind in kinds:
            asked = options_of(parser().parse([f"--concurrent-{kind}-syncs=9"])).concurrency
            assert asked == Concurrency(**{name: 9}), kind


def test_the_period_of_quotas_counts():
    assert options_of(parser().parse(["--federated-resource-quota-sync-period=7s"])).quota_period == 7
