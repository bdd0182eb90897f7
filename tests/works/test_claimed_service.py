"""The Service of a MultiClusterService: claimed, bound to clusters, and released again."""

from typing import Any

import msgspec
import pytest

from karmada.api import annotations, labels
from karmada.api.meta import ObjectMeta, OwnerReference
from karmada.api.networking.v1alpha1 import MultiClusterService, MultiClusterServiceSpec
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.works.claimed_service import (
    BindingOfAnother,
    binding_of,
    claimed_service,
    merged,
    permanent_id,
    released_binding,
    released_service,
)

ID = labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID
NOTED = {
    annotations.MULTI_CLUSTER_SERVICE_NAME: "web",
    annotations.MULTI_CLUSTER_SERVICE_NAMESPACE: "shop",
}


def owner(id_: str = "id-1") -> MultiClusterService:
    metadata = ObjectMeta(name="web", namespace="shop", labels={ID: id_} if id_ else {})
    return MultiClusterService(metadata=metadata, spec=MultiClusterServiceSpec(types=("CrossCluster",)))


def service(**metadata: Any) -> dict[str, Any]:
    about = {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7", **metadata}
    return {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": {}}


def test_a_claim_takes_the_place_of_a_policys_and_leaves_what_users_wrote() -> None:
    given = service(
        labels={"a": "b", labels.PROPAGATION_POLICY_PERMANENT_ID: "p"},
        annotations={"c": "d", annotations.PROPAGATION_POLICY_NAME: "p"},
    )
    found = claimed_service(given, owner())["metadata"]
    assert found["labels"] == {"a": "b", labels.CLAIMED_BY: "MultiClusterService", ID: "id-1"}
    assert found["annotations"] == {"c": "d", **NOTED}
    assert claimed_service(service(), owner())["metadata"]["annotations"] == NOTED
    assert permanent_id(owner("")) == ""


def test_a_binding_brings_the_service_to_its_clusters() -> None:
    found = binding_of(service(), owner(), ["m1", "m2"])
    assert (found.metadata.namespace, found.metadata.name) == ("shop", "web-service")
    assert found.metadata.labels == {labels.BINDING_MANAGED_BY: "MultiClusterService", ID: "id-1"}
    assert found.metadata.annotations == NOTED
    assert [(one.kind, one.name, one.uid) for one in found.metadata.owner_references] == [("Service", "web", "u-1")]
    assert found.metadata.finalizers == ("karmada.io/binding-controller",)
    resource = found.spec.resource
    assert (resource.kind, resource.namespace, resource.name, resource.uid, resource.resource_version) == (
        "Service",
        "shop",
        "web",
        "u-1",
        "7",
    )
    assert found.spec.placement is not None
    assert found.spec.placement.cluster_affinity is not None
    assert found.spec.placement.cluster_affinity.cluster_names == ("m1", "m2")
    assert found.spec.conflict_resolution == "Overwrite"


def existing(**metadata: Any) -> ResourceBinding:
    made = binding_of(service(resourceVersion="3"), owner(), ["m0"])
    spec = msgspec.structs.replace(made.spec, replicas=5)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, **metadata), spec=spec)


def test_what_others_decide_in_a_binding_stays() -> None:
    fresh = binding_of(service(), owner(), ["m1"])
    assert merged(None, fresh) is fresh
    marks = {"a": "b", labels.PROPAGATION_POLICY_PERMANENT_ID: "p"}
    found = merged(existing(labels=marks, annotations={"c": "d"}, finalizers=("z",), uid="b-1"), fresh)
    assert found.metadata.labels == {"a": "b", **fresh.metadata.labels}
    assert found.metadata.annotations == {"c": "d", **NOTED}
    assert found.metadata.finalizers == ("z", "karmada.io/binding-controller")
    assert found.metadata.uid == "b-1"
    assert found.metadata.owner_references == fresh.metadata.owner_references
    assert found.spec.replicas == 5
    assert (found.spec.resource, found.spec.placement) == (fresh.spec.resource, fresh.spec.placement)


@pytest.mark.parametrize(
    ("uid", "controller", "refused"), [("u-1", True, False), ("u-0", True, True), ("u-0", None, False)]
)
def test_a_binding_of_an_earlier_service_is_waited_for(uid, controller, refused) -> None:
    reference = OwnerReference(api_version="v1", kind="Service", name="web", uid=uid, controller=controller)
    fresh = binding_of(service(), owner(), ["m1"])
    if refused:
        with pytest.raises(BindingOfAnother, match="web-service belongs to a deleted resource"):
            merged(existing(owner_references=(reference,)), fresh)
    else:
        assert merged(existing(owner_references=(reference,)), fresh).spec.placement == fresh.spec.placement


def test_a_service_is_released_by_its_owner_alone() -> None:
    held = claimed_service(service(labels={"a": "b"}), owner())
    assert released_service(held, owner())["metadata"]["labels"] == {"a": "b"}
    assert released_service(held, owner("id-2")) is held
    free = service()
    assert released_service(free, owner()) is free


def test_a_binding_is_released_by_its_owner_alone() -> None:
    held = existing(labels={"a": "b", **existing().metadata.labels}, annotations={"c": "d", **NOTED})
    freed = released_binding(held, owner())
    assert (freed.metadata.labels, freed.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert released_binding(held, owner("id-2")) is held
