"""Names of clusters inside other objects."""

from karmada.api.field_errors import FieldError, invalid
from karmada.membership.cluster_rules import name_problems


def cluster_name_errors(name: str, path: str) -> list[FieldError]:
    """What is wrong with the name of a cluster."""
    problems = name_problems(name)
    return [invalid(path, name, ",".join(problems))] if problems else []
