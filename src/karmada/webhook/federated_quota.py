"""Judges FederatedResourceQuotas: known resources, sane amounts, and no more assigned than there is."""

from collections.abc import Mapping

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.field_errors import FieldError, invalid
from karmada.api.policy.v1alpha1 import FederatedResourceQuota
from karmada.api.quantity import Quantity, QuantityError
from karmada.policies import quota_tree
from karmada.webhook.model import Denied, Review, decoded, refuse_if_any
from karmada.webhook.names import cluster_name_errors
from karmada.webhook.resource_names import COUNTED, is_extended, quota_resource_errors

_LONGEST_NAME = 63


async def validate_federated_quota(review: Review) -> None:
    """Judge a FederatedResourceQuota."""
    quota = decoded(review.object, FederatedResourceQuota)
    errors: list[FieldError] = []
    if len(quota.metadata.name) > _LONGEST_NAME:
        detail = f"must be no more than {_LONGEST_NAME} characters"
        errors.append(invalid("metadata.name", quota.metadata.name, detail))
    overall = _amounts(quota.spec.overall)
    errors += _list_errors(overall, "spec.overall")
    assigned: dict[str, Quantity] = {}
    unknown: list[FieldError] = []
    for index, assignment in enumerate(quota.spec.static_assignments):
        path = f"spec.staticAssignments[{index}]"
        errors += cluster_name_errors(assignment.cluster_name, f"{path}.clusterName")
        hard = _amounts(assignment.hard)
        errors += _list_errors(hard, f"{path}.hard")
        for name, amount in hard.items():
            if name not in overall:
                detail = "assignment resourceName is not exist in overall"
                unknown.append(invalid(f"{path}.hard[{name}]", name, detail))
            assigned[name] = assigned[name] + amount if name in assigned else amount
    zero = Quantity.parse("0")
    errors += [
        invalid(f"spec.overall[{name}]", str(amount), "overall is less than assignments")
        for name, amount in overall.items()
        if amount < assigned.get(name, zero)
    ]
    errors += unknown
    errors += _status_errors(quota)
    if review.gates.enabled(quota_tree.GATE):
        marks, assigns = quota.metadata.annotations, bool(quota.spec.static_assignments)
        if why := quota_tree.objection(review.namespace, marks, assigns):
            errors.append(invalid(f"metadata.annotations[{QUOTA_NAMESPACES}]", marks[QUOTA_NAMESPACES], why))
    refuse_if_any(errors)


def _status_errors(quota: FederatedResourceQuota) -> list[FieldError]:
    status = quota.status
    errors = _list_errors(_amounts(status.overall), "status.overall")
    errors += _list_errors(_amounts(status.overall_used), "status.overallUsed")
    for index, item in enumerate(status.aggregated_status):
        path = f"status.aggregatedStatus[{index}]"
        errors += cluster_name_errors(item.cluster_name, f"{path}.clusterName")
        errors += _list_errors(_amounts(item.hard), f"{path}.hard")
        errors += _list_errors(_amounts(item.used), f"{path}.used")
    return errors


def _amounts(amounts: Mapping[str, int | str]) -> dict[str, Quantity]:
    try:
        return {name: Quantity.parse(amount) for name, amount in amounts.items()}
    except QuantityError as error:
        raise Denied(str(error), code=400, reason="") from error


def _list_errors(amounts: Mapping[str, Quantity], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in amounts.items():
        field = f"{path}[{name}]"
        errors += quota_resource_errors(name, field)
        if amount.sign() < 0:
            errors.append(invalid(field, str(amount), "must be greater than or equal to 0"))
        if (name in COUNTED or is_extended(name)) and amount.milli_value() % 1000:
            errors.append(invalid(field, str(amount), "must be an integer"))
    return errors
