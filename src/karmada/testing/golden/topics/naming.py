"""Topic `naming`: names derived from other names."""

from collections.abc import Callable
from typing import Any

from karmada.api import names
from karmada.testing.golden.case import Failed, Operation, Topic


def _named(rule: Callable[..., object], *parts: str) -> Operation:
    def call(given: dict[str, str]) -> dict[str, Any]:
        try:
            return {"value": rule(*(given[part] for part in parts))}
        except names.ExecutionSpaceError as error:
            raise Failed(str(error)) from error

    return call


TOPIC = Topic(
    "naming",
    {
        "names.WorkName": _named(names.work_name, "kind", "name", "namespace"),
        "names.BindingName": _named(names.binding_name, "kind", "name"),
        "names.BindingReferenceKey": _named(names.binding_reference_key, "namespace", "name"),
        "names.PolicyName": _named(names.policy_name, "namespace", "name", "gvk"),
        "names.ExecutionSpaceName": _named(names.execution_space, "cluster"),
        "names.ClusterNameFromExecutionSpace": _named(names.cluster_of_execution_space, "namespace"),
        "names.EndpointSliceName": _named(names.imported_endpoint_slice, "cluster", "endpointSlice"),
        "names.DerivedServiceName": _named(names.derived_service, "service"),
        "names.ServiceAccountName": _named(names.member_service_account, "cluster"),
        "names.RoleName": _named(names.member_role, "serviceAccount"),
        "names.ImpersonationSecretName": _named(names.impersonation_secret, "cluster"),
        "names.EstimatorServiceName": _named(names.estimator_service, "cluster", "prefix"),
        "names.EstimatorDeploymentName": _named(names.estimator_deployment, "cluster"),
        "names.IsReservedNamespace": _named(names.is_reserved_namespace, "namespace"),
        "names.NamespacedKey": _named(names.namespaced_key, "namespace", "name"),
    },
)
