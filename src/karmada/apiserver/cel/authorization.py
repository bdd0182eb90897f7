"""The variable `authorizer` of admission expressions: questions to the authoriser, asked step by step.

Two environments are declared. One checks types when an expression is written: authorisers, checks and decisions have
types of their own, without fields. The other evaluates: the engine cannot carry such values, so that each step is a map
with a private key. Whoever evaluates says with `answering` who answers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from karmada.api.name_rules import dns_label, dns_subdomain

Tagged = dict[str, Any]
Answer = Callable[[tuple[str, str] | None, dict[str, str]], tuple[bool, str]]
"""Whether a service account (namespace, name), or if None the user of the request, may do what is asked, and why."""

VARIABLE, REQUEST_VARIABLE = "authorizer", "authorizer.requestResource"
TYPE, REQUEST_TYPE = "authorizer", "resource check"
"""Names of the types of both variables where expressions are checked; where they are evaluated, both are dyn."""

_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
TYPES = {TYPE: _AUTHORIZER, REQUEST_TYPE: _RESOURCE}

_answer: ContextVar[Answer] = ContextVar("answer")


@contextmanager
def answering(answer: Answer) -> Iterator[None]:
    """Let an authoriser answer what is asked inside."""
    token = _answer.set(answer)
    try:
        yield
    finally:
        _answer.reset(token)


def authorizer() -> Tagged:
    """The value of the variable: asks for the user of the request."""
    return {_AUTHORIZER: {}}


def request_check(group: str, resource: str, subresource: str, namespace: str, name: str) -> Tagged:
    """The value of `authorizer.requestResource`: a check of what the request is about."""
    attributes = {
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    return {_RESOURCE: attributes}


def _path(value: Tagged, path: str) -> Tagged:
    attributes = _of(value, _AUTHORIZER)
    return {_PATH: {**attributes, "path": _not_empty("path", path)}}


def _group(value: Tagged, group: str) -> Tagged:
    return {_GROUP: {**_of(value, _AUTHORIZER), "group": group}}


def _service_account(value: Tagged, namespace: str, name: str) -> Tagged:
    _of(value, _AUTHORIZER)
    if dns_subdomain(name):
        raise ValueError("Invalid service account name")
    if dns_label(namespace):
        raise ValueError("Invalid service account namespace")
    return {_AUTHORIZER: {"account": [namespace, name]}}


def _resource(value: Tagged, resource: str) -> Tagged:
    attributes = _of(value, _GROUP)
    return {_RESOURCE: {**attributes, "resource": _not_empty("resource", resource)}}


def _narrowed(field: str, value: Tagged, text: str) -> Tagged:
    return {_RESOURCE: {**_of(value, _RESOURCE), field: text}}


def _selected(value: Tagged, selector: str) -> Tagged:
    """Selectors narrow what is asked; no rule of RBAC looks at them."""
    return {_RESOURCE: _of(value, _RESOURCE)}


def _check(value: Tagged, verb: str) -> Tagged:
    attributes = _of(value, _PATH if _PATH in value else _RESOURCE)
    account = attributes.pop("account", None)
    allowed, reason = _answer.get()((account[0], account[1]) if account else None, {**attributes, "verb": verb})
    return {_DECISION: {"allowed": allowed, "reason": reason}}


def _allowed(value: Tagged) -> bool:
    return bool(_of(value, _DECISION)["allowed"])


def _reason(value: Tagged) -> str:
    return str(_of(value, _DECISION)["reason"])


def _errored(value: Tagged) -> bool:
    """RBAC answers from memory: it cannot fail."""
    _of(value, _DECISION)
    return False


def _error(value: Tagged) -> str:
    _of(value, _DECISION)
    return ""


def _of(value: Tagged, kind: str) -> Tagged:
    if kind not in value:
        raise ValueError("no such overload")
    return dict(value[kind])


def _not_empty(field: str, text: str) -> str:
    if not text.strip():
        raise ValueError(f"{field} must not be empty")
    return text


_FUNCTIONS: tuple[tuple[str, str, int, str, Callable[..., Any]], ...] = (
    ("path", _AUTHORIZER, 1, _PATH, _path),
    ("group", _AUTHORIZER, 1, _GROUP, _group),
    ("serviceAccount", _AUTHORIZER, 2, _AUTHORIZER, _service_account),
    ("resource", _GROUP, 1, _RESOURCE, _resource),
    ("subresource", _RESOURCE, 1, _RESOURCE, partial(_narrowed, "subresource")),
    ("namespace", _RESOURCE, 1, _RESOURCE, partial(_narrowed, "namespace")),
    ("name", _RESOURCE, 1, _RESOURCE, partial(_narrowed, "name")),
    ("fieldSelector", _RESOURCE, 1, _RESOURCE, _selected),
    ("labelSelector", _RESOURCE, 1, _RESOURCE, _selected),
    ("check", _PATH, 1, _DECISION, _check),
    ("check", _RESOURCE, 1, _DECISION, _check),
    ("allowed", _DECISION, 0, "bool", _allowed),
    ("reason", _DECISION, 0, "string", _reason),
    ("errored", _DECISION, 0, "bool", _errored),
    ("error", _DECISION, 0, "string", _error),
)
"""Name, type of the receiver, how many texts it takes, type of the result, what it does."""


def declarations(cel: Any, checking: bool) -> list[Any]:
    """The functions for an environment of the engine, given as its module, with types or with maps."""
    overloads: dict[str, list[Any]] = {}
    for name, receiver, texts, result, function in _FUNCTIONS:
        found = overloads.setdefault(name, [])
        if found and not checking:
            continue
        kinds = [_kind(cel, receiver, checking), *[cel.Type.STRING] * texts]
        overload = f"{name}_of_{receiver}"
        found.append(cel.Overload(overload, _kind(cel, result, checking), kinds, is_member=True, impl=function))
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]


def _kind(cel: Any, name: str, checking: bool) -> Any:
    if name in ("bool", "string"):
        return cel.Type.BOOL if name == "bool" else cel.Type.STRING
    return cel.Type.AbstractType(name, []) if checking else cel.Type.Map(cel.Type.DYN, cel.Type.DYN)
