"""What a kube-apiserver 1.36 accepts and refuses where one could think otherwise."""

from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.schema.decoding import decode

TYPES = {(type_.group, type_.version, type_.kind): type_ for type_ in builtin_types()}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LONG = "x" * 300
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
STANDARD = "must be a standard limit type or fully qualified"
STORAGE = "either minimum or maximum storage value is required, but neither was provided"


def errors(group: str, version: str, kind: str, obj: dict[str, Any]) -> list[str]:
    """The complaints about a new object."""
    type_ = TYPES[group, version, kind]
    obj = {"metadata": {"name": "n"}, **obj}
    if type_.namespaced:
        obj["metadata"]["namespace"] = "default"
    decode(type_.schema, obj)
    type_.strategy.default(obj)
    type_.strategy.prepare_create(obj)
    return [str(error) for error in type_.strategy.validate(obj, None)]


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


def limits(kind: str) -> dict[str, Any]:
    return {"spec": {"limits": [{"type": kind, "max": {"cpu": "1"}}]}}


def backend(name: str) -> dict[str, Any]:
    return {"spec": {"defaultBackend": {"service": {"name": name, "port": {"number": 1}}}}}


@pytest.mark.parametrize(
    ("group", "version", "kind", "obj"),
    [
        pytest.param("coordination.k8s.io", "v1", "Lease", {"spec": {"holderIdentity": ""}}, id="a released lease"),
        pytest.param("", "v1", "Event", named("Bad_Value!"), id="any name of an event"),
        pytest.param("policy", "v1", "PodDisruptionBudget", named(LONG), id="any name of a budget"),
        pytest.param("apps", "v1", "ControllerRevision", {"data": {}, "revision": 1}, id="an empty revision"),
        pytest.param("networking.k8s.io", "v1", "Ingress", backend("1a"), id="a service that begins with a digit"),
    ],
)
def test_accepted(group, version, kind, obj):
    assert errors(group, version, kind, obj) == []


@pytest.mark.parametrize(
    ("group", "version", "kind", "obj", "error"),
    [
        pytest.param(
            "", "v1", "Event", named("a/b"), """metadata.name: Invalid value: "a/b": may not contain '/'""", id="slash"
        ),
        pytest.param(
            "apps",
            "v1",
            "ControllerRevision",
            {"data": 5, "revision": 1},
            "data: Required value: data must be a valid JSON object",
            id="a number as revision",
        ),
        pytest.param(
            "", "v1", "LimitRange", limits("Foo"), f'spec.limits[0].type: Invalid value: "Foo": {STANDARD}', id="limit"
        ),
        pytest.param(
            "",
            "v1",
            "LimitRange",
            limits("PersistentVolumeClaim"),
            f"spec.limits[0].limits: Required value: {STORAGE}",
            id="a limit of claims without storage",
        ),
        pytest.param(
            "apps",
            "v1",
            "StatefulSet",
            named("a.b", spec=SELECTOR),
            'metadata.name: Invalid value: "a.b": must not contain dots',
            id="a set whose pods could not be named",
        ),
        pytest.param(
            "apps",
            "v1",
            "StatefulSet",
            {"spec": {**SELECTOR, "serviceName": "Bad!"}},
            f'spec.serviceName: Invalid value: "Bad!": {LABEL}',
            id="service of a set",
        ),
        pytest.param(
            "",
            "v1",
            "ConfigMap",
            named(LONG),
            f'metadata.name: Invalid value: "{LONG}": must be no more than 253 characters',
            id="long name",
        ),
        pytest.param(
            "networking.k8s.io",
            "v1",
            "Ingress",
            backend("-a"),
            f'spec.defaultBackend.service.name: Invalid value: "-a": {LABEL}',
            id="service of an ingress",
        ),
        pytest.param(
            "flowcontrol.apiserver.k8s.io",
            "v1",
            "FlowSchema",
            {"spec": {"priorityLevelConfiguration": {"name": LONG}}},
            f'spec.priorityLevelConfiguration.name: Invalid value: "{LONG}": must be no more than 253 characters',
            id="level of a schema",
        ),
        pytest.param(
            "storage.k8s.io",
            "v1",
            "VolumeAttachment",
            {"spec": {"attacher": "a", "nodeName": LONG, "source": {"persistentVolumeName": "v"}}},
            f'spec.nodeName: Invalid value: "{LONG}": must be no more than 253 characters',
            id="node of an attachment",
        ),
    ],
)
def test_refused(group, version, kind, obj, error):
    assert errors(group, version, kind, obj) == [error]
