"""What a Karmada object must not say, and that each refusal names the field and the remedy."""

from typing import Any

import pytest

from karmada.api.codec import from_tree
from karmada.api.operator.v1alpha1 import Karmada
from karmada.operator.validation import problems

EMBEDDED = {"operator.karmada.io/flavour": "embedded"}


def found(spec: dict[str, Any], name: str = "demo", annotations: dict[str, str] | None = None) -> list[str]:
    metadata = {"name": name, "namespace": "karmadas", "annotations": annotations or {}}
    tree = {"apiVersion": "operator.karmada.io/v1alpha1", "kind": "Karmada", "metadata": metadata, "spec": spec}
    return problems(from_tree(tree, Karmada))


def components(**given: Any) -> dict[str, Any]:
    return {"components": {"etcd": {"local": {}}, **given}}


def external(name: str = "demo-karmada-etcd-cert", **given: Any) -> dict[str, Any]:
    fields = {"endpoints": ["https://etcd:2379"], "secretRef": {"name": name}, **given}
    return {"components": {"etcd": {"external": fields}}}


@pytest.mark.parametrize("spec", [{}, components(), external(), {"crdTarball": {"httpSource": {"url": "https://a/b"}}}])
def test_what_is_well_is_not_refused(spec: dict[str, Any]) -> None:
    assert found(spec) == []
    assert found({}, annotations=EMBEDDED) == []


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"components": {"etcd": {}}}, "spec.components.etcd", "unexpected empty etcd configuration"),
        (
            {"components": {"etcd": {"local": {}, "external": external()["components"]["etcd"]["external"]}}},
            "spec.components.etcd",
            "give one of local and external",
        ),
        (external("mine"), "spec.components.etcd.external.secretRef.name", "must be demo-karmada-etcd-cert"),
        (external(endpoints=["etcd"]), "spec.components.etcd.external.endpoints", "write addresses"),
        (
            external(secretRef={"name": "demo-karmada-etcd-cert", "namespace": "elsewhere"}),
            "spec.components.etcd.external.secretRef.namespace",
            "own namespace",
        ),
        (
            {"crdTarball": {"httpSource": {"url": "nowhere"}}},
            "spec.crdTarball.httpSource.url",
            "invalid CRDs remote URL",
        ),
        (
            {"crdTarball": {"httpSource": {"url": "https://a/b", "proxy": {"proxyURL": "nowhere"}}}},
            "spec.crdTarball.httpSource.proxy.proxyURL",
            "invalid CRDs proxy URL",
        ),
        (
            components(karmadaAPIServer={"serviceType": "ExternalName"}),
            "spec.components.karmadaAPIServer.serviceType",
            "unsupported service type",
        ),
        (
            components(karmadaAPIServer={"serviceType": "LoadBalancer", "loadBalancerClass": "A B"}),
            "spec.components.karmadaAPIServer.loadBalancerClass",
            "no name of a class",
        ),
        (
            components(karmadaAPIServer={"serviceSubnet": "10.0.0.0/99"}),
            "spec.components.karmadaAPIServer.serviceSubnet",
            "10.0.0.0/99",
        ),
        (
            components(karmadaAPIServer={"certSANs": ["karmada.example.com", "https://karmada.example.com"]}),
            "spec.components.karmadaAPIServer.certSANs",
            "'https://karmada.example.com' is no name or address",
        ),
        (
            components(karmadaAggregatedAPIServer={"certSANs": ["kärmada"]}),
            "spec.components.karmadaAggregatedAPIServer.certSANs",
            "'kärmada' is no name or address",
        ),
        (
            {"components": {"etcd": {"local": {"peerCertSANs": ["", "10.0.0.1", "fd00::1", "*.etcd.example.com"]}}}},
            "spec.components.etcd.local.peerCertSANs",
            "'' is no name or address",
        ),
        (
            components(karmadaScheduler={"extraArgs": {"v": "2", "--logging-format": "json"}}),
            "spec.components.karmadaScheduler.extraArgs",
            "'--logging-format' is no name of a flag: write it without dashes",
        ),
        ({"privateRegistry": {"registry": ""}}, "spec.privateRegistry.registry", "write the name of a registry"),
        (
            {"hostCluster": {"secretRef": {"name": "there", "namespace": "here"}}},
            "spec.hostCluster.secretRef",
            "run an operator there",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(spec: dict[str, Any], field: str, words: str) -> None:
    (problem,) = found(spec)
    assert problem.startswith(f"{field}: ")
    assert words in problem


def test_names_that_no_service_or_pod_can_have_are_refused() -> None:
    assert found({}, "karmada-" + "x" * 31) == []
    (problem,) = found({}, "karmada-" + "x" * 32)
    assert "more than 63 characters" in problem
    (problem,) = found({}, "karmada-" + "x" * 24, annotations=EMBEDDED)
    assert "more than 52 characters" in problem
    (problem,) = found({}, "1.karmada")
    assert problem.startswith("metadata.name: ")


def test_the_embedded_flavour_refuses_what_it_cannot_do() -> None:
    assert "embedded" in found(external(), annotations=EMBEDDED)[0]
    (problem,) = found(components(karmadaAPIServer={"replicas": 3}), annotations=EMBEDDED)
    assert problem.startswith("spec.components.karmadaAPIServer.replicas: ")
    (problem,) = found(components(karmadaSearch={"replicas": 2}), annotations=EMBEDDED)
    assert problem.startswith("spec.components.karmadaSearch.replicas: ")
    assert found(components(karmadaSearch={})) == found(components(karmadaSearch={}), annotations=EMBEDDED) == []
    (problem,) = found({}, annotations={"operator.karmada.io/flavour": "sqlite"})
    assert problem.startswith("metadata.annotations[operator.karmada.io/flavour]: sqlite is not known")
