"""Types of the variables that expressions of webhooks and policies may use, and compiling with them.

Variables are known by name and type. A field whose type is known has an entry of its own, such as `request.operation`
or `variables.limit`; what else is selected of such a variable is undefined.
"""

import re
from collections.abc import Iterable, Mapping

from karmada.apiserver import cel
from karmada.apiserver.cel import authorization
from karmada.apiserver.cel.syntax import selections

OWN = "variables"
"""Through which the variables of a policy are read."""
MOST_TYPED = 64
"""Variables of a policy whose types are known: each is compiled with those before it."""
_UNTYPED = "map(string, dyn)"
Variables = Mapping[str, str]
"""Names and types."""
_TEXT, _TEXTS, _MAP = "string", "list(string)", "map(string, string)"
_REQUEST = {
    **dict.fromkeys(("kind.group", "kind.version", "kind.kind"), _TEXT),
    **dict.fromkeys(("requestKind.group", "requestKind.version", "requestKind.kind"), _TEXT),
    **dict.fromkeys(("resource.group", "resource.version", "resource.resource"), _TEXT),
    **dict.fromkeys(("requestResource.group", "requestResource.version", "requestResource.resource"), _TEXT),
    **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), _TEXT),
    **dict.fromkeys(("userInfo.username", "userInfo.uid"), _TEXT),
    "userInfo.groups": _TEXTS,
    "userInfo.extra": "map(string, list(string))",
    "dryRun": "bool",
    "options": cel.DYN,
}
_NAMESPACE = {
    **dict.fromkeys(("metadata.name", "metadata.generateName", "metadata.namespace"), _TEXT),
    "metadata.resourceVersion": _TEXT,
    "metadata.generation": "int",
    "metadata.labels": _MAP,
    "metadata.annotations": _MAP,
    "metadata.creationTimestamp": "timestamp",
    "metadata.deletionTimestamp": "timestamp",
    "metadata.deletionGracePeriodSeconds": "int",
    "metadata.finalizers": _TEXTS,
    "spec.finalizers": _TEXTS,
    "status.phase": _TEXT,
    "status.conditions": "list(dyn)",
}
_FIELDS = {"request": _REQUEST, "namespaceObject": _NAMESPACE}
_DECLARED = {
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "null",
    "duration",
    "timestamp",
    "list",
    "map",
    cel.DYN,
}


def given(names: Iterable[str]) -> dict[str, str]:
    """Variables that the server gives, with the fields that have types."""
    types: dict[str, str] = {}
    for name in names:
        types[name] = cel.DYN
        types |= {f"{name}.{field}": kind for field, kind in _FIELDS.get(name, {}).items()}
    return types


def declared(variables: Variables, name: str, expression: str) -> dict[str, str]:
    """The variables with one more of the policy itself, of the type of its expression; of too many none has a type."""
    if variables.get(OWN) == _UNTYPED:
        return dict(variables)
    others = {known: kind for known, kind in variables.items() if not known.startswith(f"{OWN}.")}
    if len(variables) - len(others) >= MOST_TYPED:
        return {**others, OWN: _UNTYPED}
    return {**variables, OWN: cel.DYN, f"{OWN}.{name}": _result(expression.strip(), variables)}


def _result(expression: str, variables: Variables) -> str:
    """The type of the value of an expression; unknown where it does not compile."""
    try:
        returns = compiled(expression, variables).returns
    except cel.CompileError:
        return cel.DYN
    name = returns.replace("<", "(").replace(">", ")")
    return name if set(re.findall(r"\w+", name)) <= _DECLARED else cel.DYN


def compiled(expression: str, variables: Variables) -> cel.Program:
    """An expression with these variables; raises `CompileError`."""
    known = dict(variables)
    for root in ("request", "namespaceObject", OWN):
        if re.search(rf"\bhas\s*\(\s*{root}\b", expression):
            # The engine takes the question whether a field is there for the field if that has a type.
            known = {name: kind for name, kind in known.items() if not name.startswith(f"{root}.")}
    if authorization.VARIABLE in known:
        known |= {
            authorization.VARIABLE: authorization.TYPE,
            authorization.REQUEST_VARIABLE: authorization.REQUEST_TYPE,
        }
    program = cel.compile(expression, known)
    for path in selections(program.syntax()):
        root, _, field = path.rpartition(".")
        below = f"{root}."
        if root not in variables and not any(name.startswith(below) for name in variables):
            continue
        typed = variables.get(root, cel.DYN) == cel.DYN and (root == OWN or _has_fields(root))
        if typed and path not in variables and not any(name.startswith(f"{path}.") for name in variables):
            raise cel.CompileError(_undefined(expression, root, field))
    return program


def _has_fields(path: str) -> bool:
    name, _, inner = path.partition(".")
    fields = _FIELDS.get(name, {})
    return bool(fields) and (not inner or any(field.startswith(f"{inner}.") for field in fields))


def _undefined(expression: str, root: str, field: str) -> str:
    spelt = r"\s*\.\s*".join(map(re.escape, root.split(".")))
    found = re.search(rf"\b({spelt})\s*\.\s*{re.escape(field)}\b", expression)
    before = expression[: found.end(1)] if found is not None else ""
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    shown = expression.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{column + 1}: undefined field '{field}'\n | {shown}\n | {'.' * column}^"
