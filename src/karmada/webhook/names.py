"""Names of clusters inside other objects."""

from karmada.api.field_errors import FieldError, invalid
from karmada.api.name_rules import dns_label

LONGEST_CLUSTER_NAME = 48


def cluster_name_errors(name: str, path: str) -> list[FieldError]:
    """What is wrong with the name of a cluster."""
    if not name:
        return [invalid(path, name, "must be not empty")]
    if len(name) > LONGEST_CLUSTER_NAME:
        return [invalid(path, name, f"must be no more than {LONGEST_CLUSTER_NAME} characters")]
    problems = dns_label(name)
    return [invalid(path, name, ",".join(problems))] if problems else []
