"""The `kube` module of scripts. Each helper takes decoded arguments and gives a value, or raises `HelperError`.

What they need is imported when a script asks for it: workers of other scripts stay small.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any


class HelperError(Exception):
    """A helper was called in a way it does not understand."""


def pod_requirements(arguments: Sequence[Any], *, with_priority: bool) -> Any:
    from karmada.api.codec import to_tree
    from karmada.interpreter.pods.requirements import replica_requirements

    if len(arguments) != 1:
        raise HelperError("getPodRequirements only accepts one argument")
    found = replica_requirements(_template(arguments[0], "accuratePodRequirements"), with_priority=with_priority)
    if found is None:
        return None
    tree = to_tree(found)
    claim = tree.get("nodeClaim") or {}
    if claim.get("hardNodeAffinity") == {"nodeSelectorTerms": []}:
        # No terms are null on their way into a script, and what holds only nulls is nothing there.
        del claim["hardNodeAffinity"]
    return tree


def dependencies(arguments: Sequence[Any]) -> Any:
    from karmada.api.codec import to_tree
    from karmada.interpreter.pods.references import pod_dependencies

    if len(arguments) != 2:
        raise HelperError("getPodDependencies only accepts two argument")
    pod = _template(arguments[0], "getPodDependencies")
    namespace = "default" if arguments[1] is None else arguments[1]
    if not isinstance(namespace, str):
        raise HelperError(f"bad argument #2 to getPodDependencies (string expected, got {lua_type(namespace)})")
    return [to_tree(found) for found in pod_dependencies(pod, namespace)] or None


def resource_add(arguments: Sequence[Any]) -> Any:
    from karmada.api.quantity import Quantity

    total = Quantity(0)
    for index, argument in enumerate(arguments, 1):
        if argument is not None:
            total = total + _quantity(argument, index, "resourceAdd")
    return str(total)


def resource_quantity(arguments: Sequence[Any]) -> Any:
    if len(arguments) != 1:
        raise HelperError("getResourceQuantity only accepts one argument")
    return 0 if arguments[0] is None else _quantity(arguments[0], 1, "getResourceQuantity").approximate_float()


def helpers(*, with_priority: bool) -> dict[str, Callable[[Sequence[Any]], Any]]:
    """The helpers by name; `with_priority` as in native rules (gate ResourceQuotaEstimate)."""
    return {
        "accuratePodRequirements": partial(pod_requirements, with_priority=with_priority),
        "getPodDependencies": dependencies,
        "resourceAdd": resource_add,
        "getResourceQuantity": resource_quantity,
    }


def preload() -> None:
    """Import what the helpers need and build the types they check; scripts without helpers do without."""
    import karmada.interpreter.pods.references
    import karmada.interpreter.pods.requirements  # noqa: F401
    from karmada.interpreter.pods.template import pod_template

    pod_template({})


def lua_type(value: Any) -> str:
    """The name that Lua gives to the type of a decoded value."""
    match value:
        case None:
            return "nil"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
    return "table"


def _template(tree: Any, function: str) -> Any:
    from karmada.interpreter.model import InterpretError
    from karmada.interpreter.pods.template import pod_template

    if lua_type(tree) != "table":
        raise HelperError(f"bad argument #1 to {function} (table expected, got {lua_type(tree)})")
    try:
        return pod_template(tree or {}, is_settled=True).spec
    except InterpretError as error:
        raise HelperError(str(error)) from error


def _quantity(text: Any, index: int, function: str) -> Any:
    from karmada.api.quantity import Quantity, QuantityError

    if not isinstance(text, str):
        raise HelperError(f"bad argument #{index} to {function} (string expected, got {lua_type(text)})")
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise HelperError(f"cannot parse '{text}': {error.reason}") from error
