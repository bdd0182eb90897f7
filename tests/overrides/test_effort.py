"""What overriders make of one copy is bounded: copies are made beside the work of everybody else."""

import tracemalloc
from typing import Any
from uuid import uuid4

import pytest
from tests.growth import counted, work
from tests.overrides.test_applying import MEMBER, config
from tests.overrides.test_words_and_documents import overridden, pod

from karmada.api.codec import encode, from_tree
from karmada.api.policy.v1alpha1 import FieldOverrider, OverridePolicy
from karmada.overrides.apply import apply_overrides, overridden_replicas
from karmada.overrides.errors import OverrideError
from karmada.overrides.fields import weigh

TOO_MUCH = "change too much of one resource"
CHANGE = {"operator": "replace", "subPath": "/b", "value": 1}


def deployment(names: list[str]) -> dict[str, Any]:
    containers = [{"name": name, "image": "app:v1"} for name in names]
    metadata = {"name": "d", "namespace": "default"}
    spec = {"template": {"spec": {"containers": containers}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_words_are_not_compared_with_every_word_that_is_dropped() -> None:
    def measured(count: int) -> float:
        words = counted([f"a{n}" for n in range(count)])
        dropped = [f"b{n}" for n in range(count)]
        overrider = {"containerName": "main", "operator": "remove", "value": dropped}

        def changed() -> int:
            return len(overridden(pod(args=words), {"argsOverrider": [overrider]})["spec"]["containers"])

        return work(changed).comparisons

    assert measured(400) < 3 * measured(200) + 400


def test_images_of_many_containers_are_not_changed_by_many_overriders() -> None:
    overriders = [{"component": "Tag", "operator": "replace", "value": f"v{n}"} for n in range(200)]
    with pytest.raises(OverrideError, match=TOO_MUCH):
        overridden(deployment([f"c{n}" for n in range(200)]), {"imageOverrider": overriders})
    changed = overridden(deployment([f"c{n}" for n in range(99)]), {"imageOverrider": overriders})
    assert changed["spec"]["template"]["spec"]["containers"][98]["image"] == "app:v199"


def test_the_image_at_a_path_is_not_changed_by_many_overriders_either() -> None:
    overrider = {
        "predicate": {"path": "/spec/template/spec/containers/0/image"},
        "component": "Tag",
        "operator": "replace",
        "value": "v2",
    }
    changed = overridden(deployment(["c"]), {"imageOverrider": [overrider] * 19_990})
    assert changed["spec"]["template"]["spec"]["containers"][0]["image"] == "app:v2"
    with pytest.raises(OverrideError, match=TOO_MUCH):
        overridden(deployment(["c"]), {"imageOverrider": [overrider] * 20_000})


def test_no_image_gets_a_name_that_would_be_copied_into_every_container_and_fill_the_memory() -> None:
    overrider = {"component": "Registry", "operator": "replace", "value": "r" * 2000}
    with pytest.raises(OverrideError, match="an image would have more than 1024 characters"):
        overridden(deployment(["c"]), {"imageOverrider": [overrider]})


def test_an_image_may_have_as_many_characters_as_are_allowed() -> None:
    overrider = {"component": "Registry", "operator": "replace", "value": "r" * (1024 - len("/app:v1"))}
    changed = overridden(deployment(["c"]), {"imageOverrider": [overrider]})
    [container] = changed["spec"]["template"]["spec"]["containers"]
    assert len(container["image"]) == 1024


def test_many_containers_are_not_searched_again_and_again_for_one_that_is_not_there() -> None:
    overrider = {"containerName": "missing", "operator": "add", "value": ["a"]}
    names = [f"c{n}" for n in range(2000)]
    overridden(deployment(names), {"argsOverrider": [overrider] * 999})
    with pytest.raises(OverrideError, match=TOO_MUCH):
        overridden(deployment(names), {"argsOverrider": [overrider] * 1000})


def test_a_document_may_be_changed_as_often_as_its_length_allows() -> None:
    document = config(doc=f'{{"a": "{"x" * 1700}", "b": 0}}')
    overriders = [{"fieldPath": "/data/doc", "json": [CHANGE]}] * 1100
    assert overridden(document, {"fieldOverrider": overriders})["data"]["doc"].endswith('"b":1}')


@pytest.mark.parametrize(("lines", "count"), [(5_000, 1), (200, 30)], ids=["a large one", "many overriders"])
def test_what_becomes_of_a_document_is_found_once_for_all_copies_that_hold_it(lines: int, count: int) -> None:
    document = "\n".join([f"# {uuid4()}", *(f"- {number}" for number in range(lines))])
    changes = [{"operator": "replace", "subPath": f"/{number}", "value": "x"} for number in range(count)]
    overriders = {"fieldOverrider": [{"fieldPath": "/data/doc", "yaml": [change]} for change in changes]}

    def calls() -> float:
        return work(lambda: len(overridden(config(doc=document), overriders)["data"]["doc"])).calls

    first = calls()
    assert calls() < first / 10


def test_what_is_remembered_of_small_documents_takes_no_more_than_is_counted() -> None:
    overriders = {"fieldOverrider": [{"fieldPath": "/data/doc", "yaml": [{**CHANGE, "subPath": "/a"}]}]}

    def many(first: int) -> None:
        for number in range(first, first + 2_000):
            overridden(config(doc=f"a: {number}\n"), overriders)

    many(0)
    tracemalloc.start()
    try:
        many(2_000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    encoded = encode(from_tree(overriders["fieldOverrider"][0], FieldOverrider))
    assert kept < 1.2 * sum(weigh("a: 1\n", f"a: {number}\n", encoded) for number in range(2_000, 4_000))


@pytest.mark.parametrize(
    "overriders",
    [
        {"argsOverrider": [{"containerName": "c", "operator": "add", "value": ["a"]}]},
        {"resourcesOverrider": [{"containerName": "c", "value": {"limits": {"cpu": "1"}}}]},
    ],
    ids=["words", "amounts"],
)
def test_many_containers_of_one_name_do_not_multiply_what_is_given_to_them(overriders: dict[str, Any]) -> None:
    overridden(deployment(["c"] * 16), overriders)
    with pytest.raises(OverrideError, match="more than 16 containers are called 'c'"):
        overridden(deployment(["c"] * 17), overriders)


@pytest.mark.parametrize(
    ("resource", "overrider"),
    [
        (pod(args=["a"] * 2000), {"argsOverrider": [{"containerName": "main", "operator": "remove", "value": ["b"]}]}),
        (
            {**config(), "metadata": {**config()["metadata"], "labels": {f"l{n}": "v" for n in range(2000)}}},
            {"labelsOverrider": [{"operator": "replace", "value": {"a": "b"}}]},
        ),
        (
            config(doc=f'{{"a": "{"x" * 2000}", "b": 0}}'),
            {"fieldOverrider": [{"fieldPath": "/data/doc", "json": [CHANGE]}]},
        ),
        (
            pod(resources={"limits": {f"example.com/r{n}": "1" for n in range(2000)}}),
            {"resourcesOverrider": [{"containerName": "main", "value": {"limits": {"cpu": "1"}}}]},
        ),
    ],
    ids=["words", "labels", "documents", "amounts"],
)
@pytest.mark.parametrize("apart", [True, False], ids=["rules", "one rule"])
def test_what_is_large_is_not_changed_again_and_again(
    resource: dict[str, Any], overrider: dict[str, Any], apart: bool
) -> None:
    ((name, [one]),) = overrider.items()
    rules = [{"overriders": {name: [one]}}] * 1100 if apart else [{"overriders": {name: [one] * 1100}}]
    tree = {"metadata": {"name": "o", "namespace": "default"}, "spec": {"overrideRules": rules}}
    with pytest.raises(OverrideError, match=TOO_MUCH):
        apply_overrides(resource, MEMBER, [], [from_tree(tree, OverridePolicy)])


def test_rules_that_apply_to_a_copy_are_counted() -> None:
    rules = [{"overriders": {"plaintext": [{"path": "/data/a", "operator": "add", "value": "b"}]}}] * 4001
    tree = {"metadata": {"name": "o", "namespace": "default"}, "spec": {"overrideRules": rules}}
    with pytest.raises(OverrideError, match=TOO_MUCH):
        apply_overrides(config(a=""), MEMBER, [], [from_tree(tree, OverridePolicy)])


def many_rules(resource: dict[str, Any], overriders: dict[str, Any], count: int) -> dict[str, Any]:
    tree = {
        "metadata": {"name": "o", "namespace": "default"},
        "spec": {"overrideRules": [{"overriders": overriders}] * count},
    }
    return apply_overrides(resource, MEMBER, (), [from_tree(tree, OverridePolicy)]).resource


def custom(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "path"),
    [({f"k{n}": n for n in range(20_000)}, "/spec/k0"), ({"list": [1] * 200_000}, "/spec/list/0")],
    ids=["a map that is copied", "a list that is moved aside"],
)
def test_large_maps_and_lists_are_not_changed_by_many_rules(spec: dict[str, Any], path: str) -> None:
    overriders = {"plaintext": [{"path": path, "operator": "add", "value": 7}]}
    changed = many_rules(custom(**spec), overriders, 5)
    assert (changed["spec"].get("k0") or changed["spec"]["list"][4]) == 7
    with pytest.raises(OverrideError, match=TOO_MUCH):
        many_rules(custom(**spec), overriders, 150)
    at_once = {"plaintext": overriders["plaintext"] * 1000} if "list" not in spec else overriders
    assert many_rules(custom(**spec), at_once, 1)["spec"]


MANY = {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"] * 99_999}]}


@pytest.mark.parametrize("where", ["resources", "clusters"])
def test_what_many_policies_compare_with_one_copy_is_bounded(where: str) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    selector = kind | {"labelSelector": MANY} if where == "resources" else kind
    overriders = {"replicasOverrider": [{"operator": "overwrite", "value": 3}]}
    rule = {"overriders": overriders} | ({"targetCluster": {"labelSelector": MANY}} if where == "clusters" else {})
    spec = {"resourceSelectors": [selector], "overrideRules": [rule]}
    policies = [from_tree({"metadata": {"name": f"p{n:02}"}, "spec": spec}, OverridePolicy) for n in range(20)]
    assert overridden_replicas(config(), MEMBER, [], policies[:19]) == 3
    apply_overrides(config(), MEMBER, [], policies[:19])
    for asked in (overridden_replicas, apply_overrides):
        with pytest.raises(OverrideError, match=TOO_MUCH) as caught:
            asked(config(), MEMBER, [], policies)
        assert caught.value.policy == "p19"


def test_what_a_namespace_compares_keeps_no_role_from_its_members() -> None:
    about = {"name": "r", "namespace": "default"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": about, "rules": []}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "labelSelector": MANY}
    spec = {"resourceSelectors": [kind], "overrideRules": []}
    policies = [from_tree({"metadata": {"name": f"p{n:02}"}, "spec": spec}, OverridePolicy) for n in range(20)]
    assert overridden_replicas(role, MEMBER, [], policies) is None
    assert apply_overrides(role, MEMBER, [], policies).left_out is not None
