"""Whose Work it is when several want the name."""

from typing import Any

import msgspec
import orjson
import pytest

from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work, WorkloadTemplate, WorkSpec
from karmada.works.owner import WorkOfAnother, made_for, require_own

ID = "resourcebinding.karmada.io/permanent-id"


def metadata(binding: str = "", id_: str = "") -> ObjectMeta:
    namespace, _, name = binding.rpartition("/")
    noted = {"resourcebinding.karmada.io/namespace": namespace, "resourcebinding.karmada.io/name": name}
    if binding and not namespace:
        noted = {"clusterresourcebinding.karmada.io/name": name}
    return ObjectMeta(
        name="w", namespace="karmada-es-m", annotations=noted if binding else {}, labels={ID: id_} if id_ else {}
    )


def manifest(namespace: str = "a", kind: str = "ConfigMap", api_version: str = "v1", name: Any = "c") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def work(held: dict[str, Any] | None, binding: str = "", id_: str = "") -> Work:
    manifests = (msgspec.Raw(orjson.dumps(held)),) if held is not None else ()
    return Work(metadata=metadata(binding, id_), spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)))


@pytest.mark.parametrize(
    ("existing", "mine"),
    [
        (work(manifest(), "a/c-configmap", "1"), metadata("a/c-configmap", "1")),
        (work(manifest(), "a/c-configmap", "1"), metadata("a/c-configmap", "2")),
        (work(manifest("z"), "a/c-configmap", "1"), metadata("a/c-configmap", "1")),
        (work(manifest()), metadata("a/c-configmap", "1")),
        (work(manifest(), "c-namespace", "1"), metadata()),
        (work(manifest(api_version="v1beta1")), metadata("a/c-configmap", "1")),
        (work(None), metadata("a/c-configmap", "1")),
    ],
    ids=["own", "successor", "was overridden", "nobody's", "a namespace's", "other version", "empty"],
)
def test_a_work_of_the_same_binding_or_of_nobody_and_for_the_same_object_is_written(
    existing: Work, mine: ObjectMeta
) -> None:
    require_own(existing, mine, manifest())


@pytest.mark.parametrize(
    ("existing", "mine", "why"),
    [
        (work(manifest(), "a/forged", "1"), metadata("a/c-configmap", "1"), "belongs to ResourceBinding a/forged"),
        (work(manifest(), "b/c-configmap", "1"), metadata("a/c-configmap", "1"), "belongs to ResourceBinding b/"),
        (work(manifest(), "c", "1"), metadata("a/c-configmap", "1"), "belongs to ClusterResourceBinding c"),
        (work(manifest(), "", "2"), metadata("a/c-configmap", "1"), "permanent id of another binding"),
        (work(manifest("b")), metadata("a/c-configmap", "1"), "holds ConfigMap b/c"),
        (work(manifest(kind="Secret")), metadata("a/c-configmap", "1"), "holds Secret a/c"),
        (work(manifest(api_version="x.io/v1")), metadata("a/c-configmap", "1"), "holds ConfigMap a/c"),
        (work(manifest("b"), "b/c-configmap"), metadata(), "holds ConfigMap b/c"),
        (work(manifest(name=7)), metadata("a/c-configmap", "1"), "cannot be read"),
    ],
)
def test_a_work_of_another_stays_its(existing: Work, mine: ObjectMeta, why: str) -> None:
    with pytest.raises(WorkOfAnother, match=why):
        require_own(existing, mine, manifest())


def test_a_kind_of_the_same_name_in_another_group_is_another_object() -> None:
    with pytest.raises(WorkOfAnother, match="holds ConfigMap a/c"):
        require_own(work(manifest(api_version="x.io/v1")), metadata(), manifest(api_version="y.io/v1"))
    require_own(work(manifest(api_version="x.io/v1")), metadata(), manifest(api_version="x.io/v2"))


def test_a_work_that_cannot_be_read_was_made_for_nobody() -> None:
    assert made_for(b"{") == []
    assert [str(one) for one in made_for(msgspec.json.encode(work(manifest(), "a/b")))] == ["ResourceBinding a/b"]
