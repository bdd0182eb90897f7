"""What every level's dependencies must be like, and how those of several rules are put together."""

from collections.abc import Iterable, Sequence

from karmada.api.codec import encode, to_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.label_selector import validate
from karmada.interpreter.model import InterpretError


class InvalidDependency(InterpretError):
    """A rule named a dependency that cannot be looked up."""


def checked(dependencies: Sequence[DependentObjectReference]) -> Sequence[DependentObjectReference]:
    """The same, if every one says what it is: a kind, and either a name or a selector."""
    for index, dependency in enumerate(dependencies):
        if problem := _problem(dependency, f"dependencies[{index}]"):
            raise InvalidDependency(problem)
    return dependencies


def _problem(dependency: DependentObjectReference, path: str) -> str:
    if not dependency.api_version:
        return f'{path}.apiVersion: Invalid value: "": missing required apiVersion'
    if not dependency.kind:
        return f'{path}.kind: Invalid value: "": missing required kind'
    if dependency.label_selector is not None:
        errors = validate(to_tree(dependency.label_selector), f"{path}.labelSelector")
        return str(errors[0]) if errors else ""
    if not dependency.name:
        value = encode(dependency).decode()
        return f"{path}: Invalid value: {value}: dependency can not leave name and labelSelector all empty"
    return ""


def merged(answers: Iterable[Sequence[DependentObjectReference]]) -> tuple[DependentObjectReference, ...]:
    """Each dependency once, in order."""
    distinct = {encode(dependency): dependency for answer in answers for dependency in answer}
    return tuple(sorted(distinct.values(), key=_order))


def _order(dependency: DependentObjectReference) -> tuple[str, ...]:
    selector = dependency.label_selector
    return (
        dependency.api_version,
        dependency.kind,
        dependency.namespace,
        dependency.name,
        encode(selector).decode() if selector else "",
    )
