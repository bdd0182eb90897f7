"""Bodies of subresources that have a kind of their own: Binding, Eviction, TokenRequest."""

from typing import Any

from karmada.apiserver.builtin.catalog import definition_name
from karmada.apiserver.requests import bodies
from karmada.apiserver.requests.model import Call
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.scalars import Mismatch
from karmada.machinery.httpserver.failure import bad_request

OwnKind = tuple[str, str, str]
"""Group, version and kind."""


async def body(call: Call, kind: OwnKind, field_validation: str) -> JSONObject:
    """The body of a request, decoded as the kind of the subresource."""
    return await bodies.read(call, kind[2], lambda tree, _: _checked(call, kind, tree, field_validation))


def _checked(call: Call, kind: OwnKind, body: Any, field_validation: str) -> JSONObject:
    group, version, name = kind
    if not isinstance(body, dict):
        raise bad_request(f"the body must be a {name}")
    head = f'{body.get("kind") or name} in version "{version}" cannot be handled as a {name}'
    if (body.get("kind") or name) != name:
        raise bad_request(f'{head}: no kind "{body["kind"]}" is registered')
    api_version = f"{group}/{version}" if group else version
    if body.get("apiVersion") not in (None, "", api_version, *([f"{group}/v1beta1"] if group == "policy" else [])):
        text = (
            f'no kind "{name}" is registered for version "{body["apiVersion"]}" in scheme "pkg/runtime/scheme.go:111"'
        )
        raise bad_request(f"{head}: {text}")
    texts = [f'unknown field "{path}"' for path in decoded(kind, body)]
    if field_validation == "Strict" and texts:
        raise bad_request(f"{head}: strict decoding error: {', '.join(texts)}")
    if field_validation != "Ignore":
        call.warnings.extend(texts)
    return body


def decoded(kind: OwnKind, obj: JSONObject) -> list[str]:
    """Decode an object of such a kind in place; the paths of its unknown fields, which are removed."""
    group, version, name = kind
    try:
        return decode(definition(definition_name(group, version, name)), obj)
    except Mismatch as mismatch:
        raise bad_request(f'{name} in version "{version}" cannot be handled as a {name}: {mismatch}') from None
