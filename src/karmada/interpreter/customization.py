"""Which script answers which question, put together from all ResourceInterpreterCustomizations.

They are read in the order of their names. For every question about a kind the first script that is not empty counts;
of scripts that name dependencies all do.
"""

from collections.abc import Iterable

from karmada.api.config.v1alpha1 import CustomizationRules, LuaScript, ResourceInterpreterCustomization
from karmada.interpreter.lua.level import Scripts
from karmada.interpreter.lua.pool import Script
from karmada.interpreter.model import GroupVersionKind, Operation, gvk


def scripts_of(customizations: Iterable[ResourceInterpreterCustomization]) -> Scripts:
    """The scripts by kind and question."""
    found: dict[tuple[GroupVersionKind, Operation], list[Script]] = {}
    for customization in sorted(customizations, key=lambda one: one.metadata.name):
        target = customization.spec.target
        kind = gvk(target.api_version, target.kind)
        for operation, script in _scripts(customization.spec.customizations):
            answers = found.setdefault((kind, operation), [])
            if not answers or operation is Operation.DEPENDENCIES:
                source = f"ResourceInterpreterCustomization/{customization.metadata.name}"
                answers.append(Script.of(script.lua_script, source))
    return found


def _scripts(rules: CustomizationRules) -> list[tuple[Operation, LuaScript]]:
    given = {
        Operation.REPLICAS: rules.replica_resource,
        Operation.COMPONENTS: rules.component_resource,
        Operation.REVISE: rules.replica_revision,
        Operation.RETAIN: rules.retention,
        Operation.REFLECT: rules.status_reflection,
        Operation.AGGREGATE: rules.status_aggregation,
        Operation.HEALTH: rules.health_interpretation,
        Operation.DEPENDENCIES: rules.dependency_interpretation,
    }
    return [(operation, script) for operation, script in given.items() if script is not None and script.lua_script]
