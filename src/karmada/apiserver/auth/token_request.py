"""TokenRequest: a service account's token on demand, optionally bound to a Pod, Secret or Node. A pure handler."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from karmada.apiserver import failures
from karmada.apiserver.auth.objects import NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Objects
from karmada.apiserver.auth.reviews import AUTHENTICATION
from karmada.apiserver.auth.service_accounts import Bound, ServiceAccountTokens
from karmada.apiserver.resources import FieldError
from karmada.machinery.httpserver.failure import Failure, bad_request

JSONObject = dict[str, Any]
DEFAULT_SECONDS = 3600
MINIMUM_SECONDS = 600
EXTENDED_SECONDS = 365 * 86400
WARN_SECONDS = 3607
"""Pods ask for this odd number by default; such tokens live a year and only warn after the hour, as Kubernetes does."""


@dataclass(frozen=True, slots=True)
class TokenRequestContext:
    """What answers a token request."""

    tokens: ServiceAccountTokens
    objects: Objects
    now: float


def create_token(namespace: str, name: str, obj: JSONObject, context: TokenRequestContext) -> JSONObject:
    """Answer `POST serviceaccounts/{name}/token`; raises a `Failure`."""
    metadata = dict(obj.get("metadata") or {})
    for field, own, what in (("name", name, "name"), ("namespace", namespace, "namespace")):
        if metadata.get(field) and metadata[field] != own:
            message = f'Invalid value: "{metadata[field]}": must match the service account {what} if specified'
            raise _invalid([FieldError("FieldValueInvalid", f"metadata.{field}", message)], name)
    uid = context.objects.uid(SERVICE_ACCOUNTS, namespace, name)
    if uid is None:
        raise failures.not_found("", "serviceaccounts", name)
    if metadata.get("uid") and metadata["uid"] != uid:
        why = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
        raise failures.conflict(AUTHENTICATION, "TokenRequest", name, why)
    given = obj.get("spec") or {}
    audiences = list(given.get("audiences") or context.tokens.audiences)
    seconds = given.get("expirationSeconds")
    seconds = DEFAULT_SECONDS if seconds is None else seconds
    errors = _errors(seconds)
    if errors:
        raise _invalid(errors, "")
    reference = given.get("boundObjectRef")
    bound, node = _bound(reference, namespace, name, context.objects) if reference else (None, None)
    warn_after, lifetime = 0, seconds
    own_audience = set(audiences) == set(context.tokens.audiences)
    if bound is not None and bound.kind == "pod" and seconds == WARN_SECONDS and own_audience:
        warn_after, lifetime = seconds, EXTENDED_SECONDS
    token = context.tokens.mint(namespace, name, uid, audiences, lifetime, bound, node, warn_after)
    metadata = {key: value for key, value in metadata.items() if value}
    metadata.update(name=name, namespace=namespace, uid=uid, creationTimestamp=_time(context.now))
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{AUTHENTICATION}/v1",
        "metadata": metadata,
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {"token": token, "expirationTimestamp": _time(context.now + seconds)},
    }


def _bound(reference: JSONObject, namespace: str, account: str, objects: Objects) -> tuple[Bound, Bound | None]:
    """The object the token is bound to, and the node of a Pod."""
    api_version, kind, name = reference.get("apiVersion", ""), reference.get("kind", ""), reference.get("name", "")
    stored = {"Pod": PODS, "Secret": SECRETS, "Node": NODES}.get(kind)
    if "/" in api_version or stored is None:
        group, _, version = api_version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    if not name:
        raise bad_request("Name parameter required.")
    obj = objects.read(stored, "" if kind == "Node" else namespace, name)
    if obj is None:
        raise failures.not_found("", stored[1], name)
    node: Bound | None = None
    if kind == "Pod":
        spec = obj.get("spec") or {}
        if spec.get("serviceAccountName") != account:
            why = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
            raise bad_request(why)
        if spec.get("nodeName"):
            node = Bound("node", spec["nodeName"], objects.uid(NODES, "", spec["nodeName"]) or "")
    uid = obj["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise failures.conflict("", kind, name, why)
    return Bound(kind.lower(), name, uid), node


def _errors(seconds: int) -> list[FieldError]:
    if seconds < MINIMUM_SECONDS:
        message = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
    elif seconds > 1 << 32:
        message = f"Invalid value: {seconds}: may not specify a duration larger than 2^32 seconds"
    else:
        return []
    return [FieldError("FieldValueInvalid", "spec.expirationSeconds", message)]


def _invalid(errors: list[FieldError], name: str) -> Failure:
    return failures.invalid(AUTHENTICATION, "TokenRequest", name, errors)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
