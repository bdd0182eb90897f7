"""The Cluster resource as an API server serves it: schema from the types, defaults that are more than a schema says."""

import dataclasses
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.crd.definition import definition
from karmada.api.kinds import BY_TYPE
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.resources import ResourceType
from karmada.membership.models import DEFAULT_MODELS

JSONObject = dict[str, Any]


def cluster_type() -> ResourceType:
    """The served type of clusters."""
    kind, _ = BY_TYPE[Cluster]
    (custom,) = resource_types_of(definition(kind))
    strategy = dataclasses.replace(
        custom.strategy, prepare_create=_prepare_create, prepare_update=_prepare_update, unconditional_update=True
    )
    return dataclasses.replace(custom, strategy=strategy)


def _prepare_create(cluster: JSONObject) -> None:
    cluster.pop("status", None)
    spec = cluster.setdefault("spec", {})
    _normalise(spec)
    if not spec.get("resourceModels"):
        spec["resourceModels"] = [dict(model) for model in DEFAULT_MODELS]


def _prepare_update(cluster: JSONObject, old: JSONObject) -> None:
    _normalise(cluster.setdefault("spec", {}))


def _normalise(spec: JSONObject) -> None:
    if spec.get("zone") and not spec.get("zones"):
        spec["zones"] = [spec.pop("zone")]
