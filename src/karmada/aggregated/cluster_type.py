"""The Cluster resource as an API server serves it: schema from the types, rules from `membership.cluster_rules`.

As in the reference, a write through `clusters/status` leaves the generation alone and may say what it likes, as long as
it has the shape of a status: a condition needs no reason. Unlike there, it cannot change the spec.
"""

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.crd.definition import definition
from karmada.api.crd.schema import root_schema
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.field_errors import FieldError, invalid
from karmada.api.kinds import BY_TYPE
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.printing import cells
from karmada.apiserver.resources import Column, ResourceType, Subresource
from karmada.apiserver.schema.metadata import validate_metadata
from karmada.machinery.clock import rfc3339
from karmada.membership.cluster_rules import complete, name_problems, normalise, problems

JSONObject = dict[str, Any]
GROUP, PLURAL, PROXY, TUNNEL, REVIEW = "cluster.karmada.io", "clusters", "proxy", "tunnel", "failurereview"
_SHAPE = frozenset({"FieldValueTypeInvalid", "FieldValueRequired"})
_CONNECT = ("create", "delete", "get", "patch", "update")
_COLUMNS = (
    Column("Name", "string", "name", "Name of the cluster."),
    Column("Version", "string", "", "Kubernetes version of the cluster."),
    Column("Mode", "string", "", "Who carries changes: the control plane (Push) or an agent (Pull)."),
    Column("Ready", "string", "", "Whether the cluster accepts workloads."),
    Column("Age", "date", "", "How long the cluster has been a member."),
    Column("Zones", "string", "", "Zones the cluster's nodes are in.", 1),
    Column("Region", "string", "", "Region of the cluster.", 1),
    Column("Provider", "string", "", "Cloud of the cluster.", 1),
    Column("API-Endpoint", "string", "", "Address of the cluster's API server.", 1),
    Column("Proxy-URL", "string", "", "Proxy through which the cluster is reached.", 1),
)


def cluster_type(gates: FeatureGates = DEFAULTS, now: Callable[[], float] = time.time) -> ResourceType:
    """The served type of clusters."""
    kind, _ = BY_TYPE[Cluster]
    (custom,) = resource_types_of(definition(kind))
    described = partial(root_schema, Cluster)
    modeling = gates.enabled("CustomizedClusterResourceModeling")

    def prepare_create(cluster: JSONObject) -> None:
        cluster.pop("status", None)
        spec = cluster.setdefault("spec", {})
        complete(spec, new=True, modeling=modeling)
        normalise(spec, rfc3339(now()))

    def prepare_update(cluster: JSONObject, old: JSONObject) -> None:
        spec = cluster.setdefault("spec", {})
        complete(spec, new=False, modeling=modeling)
        normalise(spec, rfc3339(now()))

    def validate_status(cluster: JSONObject, old: JSONObject | None) -> list[FieldError]:
        return [error for error in custom.strategy.validate_status(cluster, old) if error.reason in _SHAPE]

    strategy = dataclasses.replace(
        custom.strategy,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        validate=validate,
        validate_status=validate_status,
        unconditional_update=True,
    )
    return dataclasses.replace(
        custom,
        strategy=strategy,
        subresources=(
            *custom.subresources,
            Subresource(PROXY, _CONNECT, "ClusterProxyOptions"),
            Subresource(TUNNEL, ("get",), "ClusterProxyOptions"),
            Subresource(REVIEW, ("create",), "ClusterFailureReview"),
        ),
        columns=_COLUMNS,
        row=_row,
        described=described,
    )


def validate(cluster: JSONObject, old: JSONObject | None) -> list[FieldError]:
    """What is wrong with a Cluster."""
    found = _renamed(cluster, old) + validate_metadata(cluster, old, name_problems, namespaced=False)
    if old is None and names.denotes_derived(cluster["metadata"].get("name") or ""):
        why = f"a name that ends in {names.impersonation_secret('')} is that of another cluster's Secret"
        found.append(invalid("metadata.name", cluster["metadata"]["name"], why))
    return found + problems(cluster.get("spec") or {})


def _renamed(cluster: JSONObject, old: JSONObject | None) -> list[FieldError]:
    name = cluster["metadata"].get("name")
    if old is None or name == old["metadata"].get("name"):
        return []
    return [invalid("metadata.name", name, "field is immutable")]


def _row(cluster: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(cluster, "spec"), cells.part(cluster, "status")
    ready = next((c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"), "Unknown")
    named = (spec.get(field) for field in ("region", "provider", "apiEndpoint", "proxyURL"))
    return [
        cells.name_of(cluster),
        status.get("kubernetesVersion", ""),
        spec.get("syncMode", ""),
        ready,
        cells.age(cluster, now),
        ",".join(spec.get("zones") or ()) or cells.NONE,
        *(value or cells.NONE for value in named),
    ]
