"""Bindings of things that other resources need: who requires them, and the strictest wish of all."""

from typing import Any

import pytest

from karmada.api import finalizers, labels
from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import BindingSnapshot, ResourceBinding
from karmada.policies.dependencies import (
    Attached,
    AttachedToAnother,
    attach,
    delete_snapshot,
    dependency_label,
    detach,
    merge_snapshots,
)

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key", "namespace": "default", "uid": "s1", "resourceVersion": "4"},
}


def requirer(name: str, *clusters: str, id_: str = "", **spec: Any) -> ResourceBinding:
    metadata = {"name": name, "namespace": "default", "labels": {labels.RESOURCE_BINDING_PERMANENT_ID: id_ or name}}
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    made = {"resource": resource, "clusters": [{"name": cluster} for cluster in clusters]} | spec
    return from_tree({"metadata": metadata, "spec": made}, ResourceBinding)


def find_in(*bindings: ResourceBinding) -> Any:
    known = {(each.metadata.namespace, each.metadata.name): each for each in bindings}
    return lambda namespace, name: known.get((namespace, name))


def snapshot(name: str, *clusters: str, namespace: str = "default") -> BindingSnapshot:
    tree = {"namespace": namespace, "name": name, "clusters": [{"name": cluster} for cluster in clusters]}
    return from_tree(tree, BindingSnapshot)


def test_changes_of_a_known_requirer_replace_what_was_known() -> None:
    known = (snapshot("a", "m1"), snapshot("b", "m1"))

    merged = merge_snapshots(known, (snapshot("a", "m2"), snapshot("c"), snapshot("b", namespace="other")))

    assert merged == (snapshot("a", "m2"), known[1], snapshot("c"), snapshot("b", namespace="other"))


def test_one_requirer_is_taken_out() -> None:
    known = (snapshot("a"), snapshot("b"), snapshot("a", namespace="other"))

    assert delete_snapshot(known, "default", "a") == known[1:]
    assert delete_snapshot(known, "default", "z") == known


def test_a_dependency_gets_a_binding_without_a_placement_that_goes_where_its_requirer_goes() -> None:
    app = requirer("app", "m1", "m2", id_="id-7")
    binding, conflicts = attach(SECRET, app, None, find_in())

    assert (binding.metadata.name, binding.metadata.namespace) == ("key-secret", "default")
    assert binding.metadata.finalizers == (finalizers.RESOURCE_BINDING,)
    assert binding.metadata.owner_references[0].uid == "s1"
    assert dict([dependency_label(app)]) == binding.metadata.labels
    assert list(binding.metadata.labels.values()) == ["id-7"]
    resource = binding.spec.resource
    assert (resource.api_version, resource.kind, resource.namespace, resource.name) == (
        "v1",
        "Secret",
        "default",
        "key",
    )
    assert (resource.uid, resource.resource_version) == ("s1", "4")
    assert binding.spec.placement is None
    assert binding.spec.required_by == (snapshot("app", "m1", "m2"),)
    assert conflicts == ()


def test_a_second_requirer_is_added_to_the_first() -> None:
    one, two = requirer("one", "m1"), requirer("two", "m2")
    first = attach(SECRET, one, None, find_in()).binding
    both = attach(SECRET, two, first, find_in(one)).binding

    assert both.spec.required_by == (snapshot("one", "m1"), snapshot("two", "m2"))
    assert both.metadata.labels == dict([dependency_label(one), dependency_label(two)])
    assert both.metadata.owner_references == first.metadata.owner_references


def test_a_binding_of_an_earlier_object_of_the_same_name_is_not_taken_over() -> None:
    app = requirer("app")
    earlier = attach(SECRET, app, None, find_in()).binding
    reborn = {**SECRET, "metadata": {**SECRET["metadata"], "uid": "s2"}}  # type: ignore[dict-item]

    with pytest.raises(AttachedToAnother, match=r"default/key-secret\) belongs to a deleted object"):
        attach(reborn, app, earlier, find_in())


def wishes(**spec: Any) -> ResourceBinding:
    return requirer("other", **spec)


@pytest.mark.parametrize(
    ("own", "others", "resolution", "preserve", "complaint"),
    [
        ({}, {}, "Abort", False, ""),
        ({"conflictResolution": "Overwrite"}, {"conflictResolution": "Overwrite"}, "Overwrite", False, ""),
        ({"conflictResolution": "Overwrite"}, {}, "Overwrite", False, "ConflictResolution conflicted"),
        ({}, {"conflictResolution": "Overwrite"}, "Overwrite", False, "ConflictResolution conflicted"),
        ({}, {"conflictResolution": "Abort"}, "Abort", False, ""),
        ({"preserveResourcesOnDeletion": True}, {}, "Abort", True, "PreserveResourcesOnDeletion conflicted"),
        ({"preserveResourcesOnDeletion": True}, {"preserveResourcesOnDeletion": True}, "Abort", True, ""),
        ({}, {"preserveResourcesOnDeletion": False}, "Abort", False, ""),
    ],
)
def test_the_strictest_wish_of_all_requirers_counts_and_disagreement_is_reported(
    own: dict[str, Any], others: dict[str, Any], resolution: str, preserve: bool, complaint: str
) -> None:
    other = wishes(**others)
    first = attach(SECRET, other, None, find_in()).binding
    attached = attach(SECRET, requirer("app", **own), first, find_in(other))

    spec = attached.binding.spec
    assert (spec.conflict_resolution, spec.preserve_resources_on_deletion) == (resolution, preserve)
    assert complaint in attached.complaint
    assert bool(attached.complaint) is bool(complaint)


def test_both_disagreements_are_reported_in_one_sentence() -> None:
    other = wishes()
    first = attach(SECRET, other, None, find_in()).binding
    app = requirer("app", conflictResolution="Overwrite", preserveResourcesOnDeletion=True)

    complaint = attach(SECRET, app, first, find_in(other)).complaint

    assert complaint == (
        "Dependency policy conflict detected: ConflictResolution conflicted (Overwrite vs Abort); "
        "PreserveResourcesOnDeletion conflicted (true vs false)."
    )
    assert Attached(first).complaint == ""


def test_a_requirer_that_is_gone_has_no_wishes() -> None:
    other = wishes(conflictResolution="Overwrite")
    first = attach(SECRET, other, None, find_in()).binding
    attached = attach(SECRET, requirer("app"), first, find_in())

    assert attached.binding.spec.conflict_resolution == "Abort"
    assert attached.conflicts == ()


def test_the_last_requirer_takes_its_wishes_along() -> None:
    app, other = requirer("app", conflictResolution="Overwrite", preserveResourcesOnDeletion=True), wishes()
    both = attach(SECRET, app, attach(SECRET, other, None, find_in()).binding, find_in(other)).binding

    left = detach(both, app, find_in(other)).binding
    nobody = detach(left, other, find_in()).binding

    assert left.spec.required_by == (snapshot("other"),)
    assert left.metadata.labels == dict([dependency_label(other)])
    assert (left.spec.conflict_resolution, left.spec.preserve_resources_on_deletion) == ("Abort", False)
    assert nobody.spec.required_by == ()
    assert nobody.metadata.labels == {}
    assert (nobody.spec.conflict_resolution, nobody.spec.preserve_resources_on_deletion) == ("", None)


def test_when_nobody_who_requires_it_is_known_wishes_stay_as_they_were() -> None:
    app, other = requirer("app", conflictResolution="Overwrite"), wishes(conflictResolution="Overwrite")
    both = attach(SECRET, app, attach(SECRET, other, None, find_in()).binding, find_in(other)).binding

    assert detach(both, app, find_in()).binding.spec.conflict_resolution == "Overwrite"


def test_a_policy_of_its_own_decides_instead_of_requirers() -> None:
    placed = requirer("key-secret", placement={}, conflictResolution="Abort")
    attached = attach(SECRET, requirer("app", conflictResolution="Overwrite"), placed, find_in())

    assert attached.binding.spec.conflict_resolution == "Abort"
    assert attached.binding.spec.required_by == (snapshot("app"),)


def test_the_status_of_an_existing_binding_stays() -> None:
    tree = {
        "metadata": {"name": "key-secret", "namespace": "default"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "Secret", "name": "key"}},
        "status": {"schedulerObservedGeneration": 9},
    }
    existing = from_tree(tree, ResourceBinding)

    assert attach(SECRET, requirer("app"), existing, find_in()).binding.status == existing.status


def test_who_is_attached_already_is_not_compared_with_all_others_that_require_the_same() -> None:
    requirers = [requirer(f"web{number}", "m1") for number in range(50)]
    find, asked = find_in(*requirers), []

    def asking(*which: str) -> ResourceBinding | None:
        asked.append(which)
        found: ResourceBinding | None = find(*which)
        return found

    binding = attach(SECRET, requirers[0], None, find).binding
    for one in requirers:
        binding = attach(SECRET, one, binding, find).binding
    assert attach(SECRET, requirers[0], binding, asking).binding is binding
    assert asked == []
    assert attach(SECRET, requirer("web0", "m1", conflictResolution="Overwrite"), binding, asking).binding != binding
    assert len(asked) == 49


ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "key", "namespace": "default", "uid": "r1", "resourceVersion": "4"},
}


@pytest.mark.parametrize(
    ("dependency", "claim", "wish"),
    [
        (ROLE, labels.PROPAGATION_POLICY_PERMANENT_ID, ("Abort", False)),
        (ROLE, labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID, ("Abort", False)),
        (ROLE, "", ("Abort", False)),
        (ROLE, labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, ("Overwrite", True)),
        (SECRET, labels.PROPAGATION_POLICY_PERMANENT_ID, ("Overwrite", True)),
    ],
    ids=[
        "a role by a namespace's policy",
        "a role by a MultiClusterService",
        "a role by a policy that let go",
        "a role by a cluster-wide policy",
        "a secret by a namespace's policy",
    ],
)
def test_only_a_cluster_wide_policy_replaces_or_keeps_what_grants_something(
    dependency: dict[str, Any], claim: str, wish: tuple[str, bool]
) -> None:
    app, other = (requirer(n, conflictResolution="Overwrite", preserveResourcesOnDeletion=True) for n in ("a", "b"))
    for one in (app, other):
        one.metadata.labels.update({claim: "id"} if claim else {})
    first = attach(dependency, app, None, find_in())
    both = attach(dependency, other, first.binding, find_in(app))
    left = detach(both.binding, app, find_in(other))

    for one in (first.binding, both.binding, left.binding):
        assert (one.spec.conflict_resolution, one.spec.preserve_resources_on_deletion) == wish
    assert attach(dependency, other, both.binding, find_in(app)).binding is both.binding


def test_what_a_policy_said_of_a_role_is_taken_back_when_no_cluster_wide_one_says_it_any_more() -> None:
    app = requirer("app", conflictResolution="Overwrite", preserveResourcesOnDeletion=True)
    app.metadata.labels[labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID] = "wide"
    said = attach(ROLE, app, None, find_in()).binding
    del app.metadata.labels[labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID]

    taken = attach(ROLE, app, said, find_in()).binding.spec

    assert said.spec.conflict_resolution == "Overwrite"
    assert (taken.conflict_resolution, taken.preserve_resources_on_deletion) == ("Abort", False)
