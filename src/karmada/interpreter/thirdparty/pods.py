"""Pods inside bundled kinds: what they need and what they refer to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import Component, ComponentReplicaRequirements, ReplicaRequirements
from karmada.interpreter.dependencies import merged
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.requirements import (
    component_requirements,
    node_claim,
    replica_requirements,
    respelled,
)
from karmada.interpreter.pods.template import PodTemplate, pod_template
from karmada.interpreter.thirdparty.values import fields, find, get, parsed, text, whole

Paths = Sequence[tuple[str, str]]
"""Kinds and the paths of their names: `*` is every entry, a step with `!` has to be there, with `!!` also be filled."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_BY_SECRET = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
VOLUMES: Paths = (
    ("ConfigMap", "volumes/*/configMap/name"),
    ("ConfigMap", "volumes/*/projected/sources/*/configMap/name"),
    ("Secret", "volumes/*/projected/sources/*/secret/name"),
    ("Secret", "volumes/*/secret/secretName"),
    ("Secret", "volumes/*/azureFile/secretName"),
    ("Secret", "volumes/*/csi/nodePublishSecretRef/name"),
    *(("Secret", f"volumes/*/{source}/secretRef/name") for source in _BY_SECRET),
    ("PersistentVolumeClaim", "volumes/*/persistentVolumeClaim/claimName"),
)
POD: Paths = (
    *VOLUMES,
    ("Secret", "imagePullSecrets/*/name"),
    *(
        (kind, f"{containers}/*/{path}")
        for containers in ("containers", "initContainers")
        for kind, path in (
            ("ConfigMap", "envFrom/*/configMapRef/name"),
            ("Secret", "envFrom/*/secretRef/name"),
            ("ConfigMap", "env/*/valueFrom/configMapKeyRef/name"),
            ("Secret", "env/*/valueFrom/secretKeyRef/name"),
        )
    ),
)


def template_of(tree: Any) -> PodTemplate:
    """A pod template that has to be there."""
    if not isinstance(tree, dict | list):
        raise InterpretError("the pod template is missing")
    return pod_template(tree or {})


def given(tree: Any) -> Any:
    """A template that has to be there."""
    if tree is None:
        raise InterpretError("the pod template is missing")
    return tree


def requirements(tree: Any) -> ReplicaRequirements | None:
    """What one replica needs. As in the reference, amounts are read once more, which respells some of them."""
    found = replica_requirements(template_of(tree).spec, with_priority=True)
    return None if found is None else structs.replace(found, resource_request=respelled(found.resource_request))


def part(name: Any, replicas: Any, tree: Any = None) -> Component:
    """One part of a workload with what its pods need, if it has a template."""
    found = None
    if tree is not None:
        found = component_requirements(template_of(tree).spec, with_priority=True)
        found = None if found is None else structs.replace(found, resource_request=respelled(found.resource_request))
    return component(name, replicas, found)


def component(name: Any, replicas: Any, needs: ComponentReplicaRequirements | None) -> Component:
    """One part of a workload."""
    if name in ({}, []):
        name = ""  # as everything empty, it is left out of an answer
    if not isinstance(name, str):
        raise InterpretError(f"{name!r} is no name of a component")
    return Component(name=name, replicas=whole(replicas), replica_requirements=needs)


def part_needs(pod: Any, amounts: Mapping[Any, Any]) -> ComponentReplicaRequirements:
    """Amounts that a kind states itself, and the nodes and the priority that it states as a pod does."""
    if not all(isinstance(name, str) for name in amounts):
        raise InterpretError("the name of a resource is not text")
    wanted = ("nodeSelector", "tolerations", "priorityClassName")
    stated = {field: value for field in wanted if (value := find(pod, field)) is not None}
    required = find(pod, "affinity", "nodeAffinity", _REQUIRED)
    if required is not None:
        stated["affinity"] = {"nodeAffinity": {_REQUIRED: required}}
    spec = template_of({"spec": stated}).spec
    return ComponentReplicaRequirements(
        node_claim=node_claim(spec),
        resource_request=_amounts({name: amount for name, amount in amounts.items() if amount not in ({}, [])}),
        priority_class_name=spec.priority_class_name,
    )


def _amounts(amounts: Mapping[str, Any]) -> dict[str, int | str]:
    for name, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float | str):
            raise InterpretError(f"{name}: {amount!r} is no amount")
    try:
        return respelled(amounts)
    except QuantityError as error:
        raise InterpretError(str(error)) from error


def count(value: Any, default: Any) -> Any:
    """A number of replicas, which may be spelled as text; the default for anything else."""
    found = parsed(value)
    return default if found is None else found


def dependencies(resource: JSONObject, *templates: Any) -> Sequence[DependentObjectReference]:
    """What the pods of these templates refer to."""
    namespace = get(resource, "metadata", "namespace")
    name = "default" if namespace is None else text(namespace)
    return merged(pod_dependencies(template_of(template).spec, name) for template in templates)


def references(resource: JSONObject, paths: Paths, *trees: Any) -> Sequence[DependentObjectReference]:
    """What is named at these paths of the trees; an empty name refers to nothing."""
    found = [(kind, name) for tree in trees for kind, path in paths for name in _names(tree, path.split("/"))]
    return named(resource, [(kind, name) for kind, name in found if name != ""])


def named(resource: JSONObject, names: Sequence[tuple[str, Any]]) -> Sequence[DependentObjectReference]:
    """References to objects beside the resource."""
    if not names:
        return ()
    namespace = get(resource, "metadata", "namespace")
    for value in (*(name for _, name in names), "" if namespace is None else namespace):
        if not isinstance(value, str):
            raise InterpretError(f"{value!r} is not a name")
    return merged(
        [DependentObjectReference(api_version="v1", kind=kind, namespace=namespace or "", name=name)]
        for kind, name in names
    )


def _names(value: Any, path: Sequence[str]) -> Iterator[Any]:
    for index, step in enumerate(path):
        if value is None:
            return
        if step == "*":
            for entry in fields(value).values():
                yield from _names(entry, path[index + 1 :])
            return
        value = get(value, step.rstrip("!"))
        if (value is None and step.endswith("!")) or (value == "" and step.endswith("!!")):
            raise InterpretError(f"{'.'.join(path).rstrip('!')} is missing")
    if value is not None:
        yield value
