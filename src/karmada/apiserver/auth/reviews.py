"""The review kinds: questions to the authoriser and the authenticator in the form of objects. Pure handlers.

Each takes the decoded object (validated against its schema) and returns the answer object; nothing is stored. The
pipeline mounts them by the table `REVIEWS` and adds managedFields where `tracked` says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from karmada.apiserver.auth.authentication import Authenticator
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.auth.rbac import LOOKED_AT, MASTERS, RbacAuthorizer
from karmada.apiserver.auth.rules import Rule, quoted
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError
from karmada.machinery.httpserver.failure import bad_request

JSONObject = dict[str, Any]
AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
_EVERYTHING = [Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",))]


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Who asks, where, when, and what answers."""

    user: UserInfo
    namespace: str
    rbac: RbacAuthorizer
    authorizer: Authorizer
    authenticator: Authenticator
    audiences: tuple[str, ...]
    now: str
    """The time as objects spell it."""


@dataclass(frozen=True, slots=True)
class Review:
    """One kind of review; `tracked` is whether its answer shows managedFields."""

    group: str
    plural: str
    kind: str
    namespaced: bool
    tracked: bool
    answer: Callable[[JSONObject, ReviewContext], JSONObject]


def subject_access_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """May that user do that?"""
    spec = obj.get("spec") or {}
    _refuse(_access_errors(spec, needs_user=True) + _metadata_errors(obj, ()))
    return _access(obj, _subject_of(spec), context)


def local_subject_access_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """May that user do that in this namespace?"""
    spec = obj.get("spec") or {}
    errors = _access_errors(spec, needs_user=True) + _metadata_errors(obj, ("namespace",))
    namespace = obj.get("metadata", {}).get("namespace", "")
    attributes = spec.get("resourceAttributes")
    if attributes is not None and attributes.get("namespace", "") != namespace:
        message = f'Invalid value: "{attributes.get("namespace", "")}": must match metadata.namespace'
        errors.append(FieldError("FieldValueInvalid", "spec.resourceAttributes.namespace", message))
    if spec.get("nonResourceAttributes") is not None:
        message = "Invalid value: disallowed on this kind of request"
        errors.append(FieldError("FieldValueInvalid", "spec.nonResourceAttributes", message))
    _refuse(errors)
    if namespace != context.namespace:
        raise bad_request(f"spec.resourceAttributes.namespace must match namespace: {context.namespace}")
    return _access(obj, _subject_of(spec), context)


def self_subject_access_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """May I do that?"""
    spec = obj.get("spec") or {}
    _refuse(_access_errors(spec, needs_user=False) + _metadata_errors(obj, ()))
    return _access(obj, context.user, context)


def self_subject_rules_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """What may I do in that namespace?"""
    namespace = (obj.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    rules = context.rbac.rules_for(context.user, namespace)
    if MASTERS in context.user.groups:
        rules = _EVERYTHING + [rule for rule in rules if rule not in _EVERYTHING]
    status = {
        "resourceRules": [rule.to_object() for rule in rules if not rule.urls],
        "nonResourceRules": [rule.to_object() for rule in rules if rule.urls],
        "incomplete": len(rules) >= LOOKED_AT,
    }
    return {**_head(obj), "metadata": {}, "spec": {}, "status": status}


def self_subject_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """Who am I?"""
    return {
        **_head(obj),
        "metadata": {"creationTimestamp": context.now},
        "status": {"userInfo": user_object(context.user)},
    }


def token_review(obj: JSONObject, context: ReviewContext) -> JSONObject:
    """Whose token is that?"""
    spec = obj.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    wanted = tuple(spec.get("audiences") or ()) or context.audiences
    verified = context.authenticator.verify(token)
    if isinstance(verified, str):
        return _reviewed(obj, spec, {"user": {}, "error": verified})
    common = [audience for audience in wanted if audience in verified.audiences]
    if not common:
        got, want = quoted(verified.audiences), quoted(wanted)
        error = f"token audiences {got} is invalid for the target audiences {want}"
        return _reviewed(obj, spec, {"user": {}, "error": error})
    status = {"authenticated": True, "user": user_object(verified.user), "audiences": common}
    return _reviewed(obj, spec, status)


REVIEWS = (
    Review(AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview", False, True, subject_access_review),
    Review(
        AUTHORIZATION, "localsubjectaccessreviews", "LocalSubjectAccessReview", True, True, local_subject_access_review
    ),
    Review(
        AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, True, self_subject_access_review
    ),
    Review(AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview", False, False, self_subject_rules_review),
    Review(AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview", False, False, self_subject_review),
    Review(AUTHENTICATION, "tokenreviews", "TokenReview", False, True, token_review),
)


def user_object(user: UserInfo) -> JSONObject:
    """A user as UserInfo objects show it."""
    shown: JSONObject = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    return shown


def _access(obj: JSONObject, user: UserInfo, context: ReviewContext) -> JSONObject:
    spec = obj["spec"]
    decision = context.authorizer.authorize(user, _attributes(spec))
    status: JSONObject = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return {**_head(obj), "metadata": _metadata(obj), "spec": _without_empty(spec), "status": status}


def _attributes(spec: JSONObject) -> Attributes:
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        path = spec["nonResourceAttributes"]
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    return Attributes(
        attributes.get("verb", ""),
        attributes.get("group", ""),
        attributes.get("version", "") or "*",
        attributes.get("resource", ""),
        attributes.get("subresource", ""),
        attributes.get("namespace", ""),
        attributes.get("name", ""),
    )


def _subject_of(spec: JSONObject) -> UserInfo:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return UserInfo(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _access_errors(spec: JSONObject, needs_user: bool) -> list[FieldError]:
    errors = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = _shown({"Path": path.get("path") or "", "Verb": path.get("verb") or ""})
        message = f"Invalid value: {shown}: cannot be specified in combination with resourceAttributes"
        errors.append(FieldError("FieldValueInvalid", "spec.nonResourceAttributes", message))
    elif resource is None and path is None:
        message = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(FieldError("FieldValueInvalid", "spec.resourceAttributes", message))
    if needs_user and not spec.get("user") and not spec.get("groups"):
        message = 'Invalid value: "": at least one of user or group must be specified'
        errors.append(FieldError("FieldValueInvalid", "spec.user", message))
    return errors + [error for word in _SELECTORS for error in _selector_errors(resource or {}, word)]


_SELECTORS = ("fieldSelector", "labelSelector")


def _selector_errors(attributes: JSONObject, word: str) -> list[FieldError]:
    """A selector that narrows what is asked about says so in one way."""
    selector = attributes.get(word)
    if selector is None:
        return []
    place = f"spec.resourceAttributes.{word}"
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        message = f'Invalid value: "{raw}": may not specified at the same time as requirements'
        return [FieldError("FieldValueInvalid", f"{place}.rawSelector", message)]
    if not raw and not requirements:
        message = f"Required value: when {place} is specified, requirements or rawSelector is required"
        return [FieldError("FieldValueRequired", f"{place}.requirements", message)]
    return []


def _metadata_errors(obj: JSONObject, allowed: tuple[str, ...]) -> list[FieldError]:
    metadata = obj.get("metadata") or {}
    if any(value for key, value in metadata.items() if key not in (*allowed, "managedFields", "creationTimestamp")):
        tail = " except for namespace" if allowed else ""
        return [FieldError("FieldValueInvalid", "metadata", f"Invalid value: {_shown(metadata)}: must be empty{tail}")]
    return []


def _refuse(errors: list[FieldError]) -> None:
    """Kubernetes leaves kind and name out of this message."""
    if errors:
        raise invalid(AUTHORIZATION, "", "", errors)


def _shown(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value).decode()


def _head(obj: JSONObject) -> JSONObject:
    return {"kind": obj.get("kind", ""), "apiVersion": obj.get("apiVersion", "")}


def _metadata(obj: JSONObject) -> JSONObject:
    return dict(obj.get("metadata") or {})


def _reviewed(obj: JSONObject, spec: JSONObject, status: JSONObject) -> JSONObject:
    return {**_head(obj), "metadata": _metadata(obj), "spec": _without_empty(spec), "status": status}


def _without_empty(value: JSONObject) -> JSONObject:
    """A spec as it is echoed: without empty strings and lists, but with empty objects."""
    kept: JSONObject = {}
    for key, item in value.items():
        if isinstance(item, dict):
            kept[key] = _without_empty(item)
        elif item not in ("", [], None):
            kept[key] = item
    return kept
