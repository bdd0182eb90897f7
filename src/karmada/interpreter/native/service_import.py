"""ServiceImport."""

from typing import Any

from msgspec import field

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.meta import LabelSelector
from karmada.api.names import derived_service
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, view

_SERVICE_NAME = "kubernetes.io/service-name"


class ServiceImport(View, frozen=True, kw_only=True):
    """A ServiceImport."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


def rules(_: Settings) -> KindRules:
    return KindRules(dependencies=dependencies)


def dependencies(resource: JSONObject) -> list[DependentObjectReference]:
    """The Service derived from it, and that Service's endpoints."""
    metadata = view(resource, ServiceImport).metadata
    name = derived_service(metadata.name)
    return [
        DependentObjectReference(
            api_version="discovery.k8s.io/v1",
            kind="EndpointSlice",
            namespace=metadata.namespace,
            label_selector=LabelSelector(match_labels={_SERVICE_NAME: name}),
        ),
        DependentObjectReference(api_version="v1", kind="Service", namespace=metadata.namespace, name=name),
    ]
