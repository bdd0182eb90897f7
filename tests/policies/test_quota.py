"""What bindings use of a federated quota, exactly."""

from typing import Any

from karmada.api.codec import from_tree
from karmada.api.quantity import Quantity
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.policies.quota import Amounts, difference, overall_used, plus, sum_used, usage


def spec(*replicas: int, request: dict[str, Any] | None = None, **more: Any) -> ResourceBindingSpec:
    tree: dict[str, Any] = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "clusters": [{"name": f"m{number}", "replicas": count} for number, count in enumerate(replicas)],
    }
    if request is not None:
        tree["replicaRequirements"] = {"resourceRequest": request}
    return from_tree(tree | more, ResourceBindingSpec)


def component(replicas: int, request: dict[str, Any] | None) -> dict[str, Any]:
    needs = {"replicaRequirements": {"resourceRequest": request}} if request is not None else {}
    return {"name": f"c{replicas}", "replicas": replicas} | needs


def amounts(**given: str) -> Amounts:
    return {name: Quantity.parse(amount) for name, amount in given.items()}


def test_each_cluster_counts_its_replicas() -> None:
    assert usage(spec(2, 3, request={"cpu": "100m", "memory": "1Gi"})) == amounts(cpu="500m", memory="5Gi")
    assert usage(spec(2, 3)) == {}
    assert usage(spec(request={"cpu": "1"})) == amounts(cpu="0")


def test_components_count_once_for_each_cluster_and_instead_of_replicas() -> None:
    parts = [component(1, {"cpu": "1"}), component(3, {"cpu": "200m", "memory": "1Mi"}), component(5, None)]
    used = usage(spec(7, 7, request={"cpu": "50"}, components=parts))

    assert used == amounts(cpu="3200m", memory="6Mi")


def test_what_is_below_zero_counts_as_zero() -> None:
    assert usage(spec(2, request={"cpu": "-100", "memory": "1Gi"})) == amounts(memory="2Gi")
    assert usage(spec(2, -9, request={"cpu": "1"})) == amounts(cpu="2")
    assert not any(usage(spec(-9, request={"cpu": "1"})).values())
    parts = [component(1, {"cpu": "1"}), component(-9, {"cpu": "1"}), component(3, {"cpu": "-1", "memory": "1Mi"})]
    assert usage(spec(7, components=parts)) == amounts(cpu="1", memory="3Mi")


def test_a_quota_counts_the_amounts_it_names_and_somebody_uses() -> None:
    specs = [
        spec(2, request={"cpu": "1", "memory": "1Gi"}),
        spec(1, request={"cpu": "500m"}),
        spec(0, request={"gpu": 1}),
    ]

    assert overall_used(specs, {"cpu": "10", "gpu": "1", "pods": "5"}) == amounts(cpu="2500m")


def test_what_members_use_is_added_up() -> None:
    assert sum_used([{"cpu": "1", "pods": 3}, {"cpu": "500m"}]) == amounts(cpu="1500m", pods="3")
    assert sum_used([]) == {}


def test_a_difference_has_no_amounts_that_stayed() -> None:
    found = difference(amounts(cpu="2", memory="1Gi", pods="1"), amounts(cpu="500m", memory="1Gi", gpu="1"))

    assert found == amounts(cpu="1500m", pods="1", gpu="-1")


def test_a_change_is_added_to_what_the_quota_names() -> None:
    after = plus({"cpu": "1"}, amounts(cpu="500m", memory="1Gi", pods="2"), {"cpu": "9", "pods": "9"})

    assert after == amounts(cpu="1500m", pods="2")
