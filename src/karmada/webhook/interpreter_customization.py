"""Judges ResourceInterpreterCustomizations: one answer per question, and scripts that can be parsed."""

from collections.abc import Iterator

from karmada.api.config.v1alpha1 import (
    CustomizationRules,
    InterpreterOperation,
    LuaScript,
    ResourceInterpreterCustomization,
)
from karmada.interpreter.lua.syntax import syntax_error
from karmada.webhook.model import Denied, Review, decoded

_API_VERSION = "config.karmada.io/v1alpha1"
_SHARED = frozenset({InterpreterOperation.INTERPRET_DEPENDENCY})
"""Questions that several customisations may answer together."""


async def validate_interpreter_customization(review: Review) -> None:
    """Judge a ResourceInterpreterCustomization."""
    new = decoded(review.object, ResourceInterpreterCustomization)
    for tree in await review.lookup.list(_API_VERSION, "ResourceInterpreterCustomization"):
        other = decoded(tree, ResourceInterpreterCustomization)
        if other.metadata.name == new.metadata.name or other.spec.target != new.spec.target:
            continue
        answered = {operation for operation, _ in _scripts(other.spec.customizations)} - _SHARED
        for operation, _ in _scripts(new.spec.customizations):
            if operation in answered:
                raise Denied(
                    f"conflicting with InterpreterOperation({operation}) of existing "
                    f"ResourceInterpreterCustomization({other.metadata.name})"
                )
    for operation, script in _scripts(new.spec.customizations):
        problem = syntax_error(script.lua_script)
        if problem:
            raise Denied(f"InterpreterOperation({operation}) Lua script error: {problem}")


def _scripts(rules: CustomizationRules) -> Iterator[tuple[InterpreterOperation, LuaScript]]:
    given = (
        (InterpreterOperation.RETAIN, rules.retention),
        (InterpreterOperation.INTERPRET_REPLICA, rules.replica_resource),
        (InterpreterOperation.INTERPRET_COMPONENT, rules.component_resource),
        (InterpreterOperation.REVISE_REPLICA, rules.replica_revision),
        (InterpreterOperation.INTERPRET_STATUS, rules.status_reflection),
        (InterpreterOperation.AGGREGATE_STATUS, rules.status_aggregation),
        (InterpreterOperation.INTERPRET_HEALTH, rules.health_interpretation),
        (InterpreterOperation.INTERPRET_DEPENDENCY, rules.dependency_interpretation),
    )
    return ((operation, script) for operation, script in given if script is not None and script.lua_script)
