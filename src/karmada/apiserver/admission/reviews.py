"""AdmissionReview: what a webhook is asked, and what its answer means."""

import base64
import binascii
from typing import Any, NamedTuple

import orjson

from karmada.api import json_patch
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.json_errors import syntax_error
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.machinery.httpserver.failure import Failure

_GROUP = "admission.k8s.io"


class BadReview(Exception):
    """The webhook's answer makes no sense; counts as a failed call."""


class Verdict(NamedTuple):
    """A webhook's answer."""

    allowed: bool
    status: JSONObject
    patch: list[Any]
    warnings: list[str]
    audit: dict[str, str]


def review(
    request: AdmissionRequest,
    type_: ResourceType,
    obj: JSONObject | None,
    old: JSONObject | None,
    uid: str,
    version: str,
) -> JSONObject:
    """The review of a request, with its objects in the version that the webhook's rules name."""
    kind = request.kind or (type_.group, type_.version, type_.kind)
    own_kind = request.kind or (request.type.group, request.type.version, request.type.kind)
    body: JSONObject = {
        "uid": uid,
        "kind": _kind(*kind),
        "resource": _resource(type_),
        "requestKind": _kind(*own_kind),
        "requestResource": _resource(request.type),
        "name": request.name,
        "namespace": request.namespace,
        "operation": request.operation.value,
        "userInfo": user_info(request.user),
        "object": obj,
        "oldObject": old,
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        body["subResource"] = body["requestSubResource"] = request.subresource
    if not request.name:
        del body["name"]
    if request.type.plural == "namespaces" and not request.type.group:
        body["namespace"] = request.name
    if not body["namespace"]:
        del body["namespace"]
    return {"kind": "AdmissionReview", "apiVersion": f"{_GROUP}/{version}", "request": body}


def _kind(group: str, version: str, kind: str) -> JSONObject:
    return {"group": group, "version": version, "kind": kind}


def _resource(type_: ResourceType) -> JSONObject:
    return {"group": type_.group, "version": type_.version, "resource": type_.plural}


def user_info(user: UserInfo) -> JSONObject:
    """A user as reviews spell it."""
    body: JSONObject = {"username": user.name}
    if user.uid:
        body["uid"] = user.uid
    if user.groups:
        body["groups"] = list(user.groups)
    if user.extra:
        body["extra"] = {key: list(values) for key, values in user.extra.items()}
    return body


def verdict(answer: bytes, uid: str, version: str, mutating: bool) -> Verdict:
    """Read a webhook's answer; raises `BadReview`."""
    try:
        body = orjson.loads(answer)
    except orjson.JSONDecodeError:
        text = f"couldn't get version/kind; json parse error: {syntax_error(answer)}"
        raise BadReview(f"failed to call webhook: {text}") from None
    api_version = body.get("apiVersion", "")
    if api_version not in (f"{_GROUP}/v1", f"{_GROUP}/v1beta1") or body.get("kind") != "AdmissionReview":
        kind = body.get("kind", "")
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise BadReview(f"failed to call webhook: {text}")
    if api_version != f"{_GROUP}/{version}":
        text = f"expected webhook response of {_GROUP}/{version}, Kind=AdmissionReview, got {api_version}"
        raise BadReview(f"received invalid webhook response: {text}, Kind={body.get('kind')}")
    response = body.get("response")
    if not isinstance(response, dict):
        raise BadReview("received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid and version == "v1":
        text = f'expected response.uid="{uid}", got "{response.get("uid", "")}"'
        raise BadReview(f"received invalid webhook response: {text}")
    return Verdict(
        bool(response.get("allowed")),
        response.get("status") or {},
        _patch(response, mutating) if version == "v1" else _old_patch(response, mutating),
        list(response.get("warnings") or ()),
        dict(response.get("auditAnnotations") or {}),
    )


def _old_patch(response: JSONObject, mutating: bool) -> list[Any]:
    """Answers of version v1beta1 name no type of patch, and what a validating webhook patches is ignored."""
    if not mutating or not response.get("patch"):
        return []
    return _patch({**response, "patchType": "JSONPatch"}, mutating)


def _patch(response: JSONObject, mutating: bool) -> list[Any]:
    encoded, kind = response.get("patch"), response.get("patchType")
    if not mutating:
        if encoded:
            raise BadReview("received invalid webhook response: validating webhook may not return response.patch")
        if kind:
            raise BadReview("received invalid webhook response: validating webhook may not return response.patchType")
        return []
    if not encoded:
        if kind:
            raise BadReview(
                "received invalid webhook response: webhook returned response.patchType but not response.patch"
            )
        return []
    if not kind:
        raise BadReview("received invalid webhook response: webhook returned response.patch but not response.patchType")
    if kind != "JSONPatch":
        return []
    try:
        patch = orjson.loads(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError, orjson.JSONDecodeError) as error:
        raise BadReview(f"failed to call webhook: {error}") from None
    if not isinstance(patch, list):
        raise BadReview("received invalid webhook response: response.patch is no JSON patch")
    return patch


def denied(name: str, answer: Verdict) -> Failure:
    """The refusal of a webhook; it chooses the code and the reason."""
    status = answer.status
    message, reason = status.get("message") or "", status.get("reason") or ""
    text = f'admission webhook "{name}" denied the request'
    if message:
        text += f": {message}"
    elif reason:
        text += f": {reason}"
    else:
        text += " without explanation"
    code = max(int(status.get("code") or 0), 400)  # a refusal is never said with success
    return Failure(code, reason, text, status.get("details"))


def patched(obj: JSONObject, patch: list[Any]) -> JSONObject:
    """The object with a webhook's patch; a patch that does not fit is the server's failure."""
    try:
        result: JSONObject = json_patch.apply(obj, patch)
    except json_patch.JSONPatchError as error:
        raise Failure(
            500, "InternalError", f"Internal error occurred: {error}", {"causes": [{"message": str(error)}]}
        ) from None
    return result
