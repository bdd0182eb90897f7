"""AdmissionReview and ConversionReview documents, answered by the handlers. No I/O but what a handler's lookup does."""

import base64
import copy
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from karmada.api.codec import DecodeError
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.conversion import UnknownVersionError, convert
from karmada.webhook.model import Denied, Handler, Inventory, JSONObject, Lookup, Operation, Review

CONTROLLERS = "karmada-controller-manager"
"""The field manager of the controllers."""
_CONTROLLERS_OWN = frozenset({"works", "resourcebindings", "clusterresourcebindings"})
"""Resources that controllers make, and nobody else in the course of things."""
Answer = Callable[[JSONObject], Awaitable[JSONObject]]
"""From the `request` of a review to its `response`."""


class BadReview(ValueError):
    """A document that is no review."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all handlers of a process share."""

    lookup: Lookup
    gates: FeatureGates
    allow_no_execute: bool = False
    inventory: Inventory | None = None

    def review(self, request: JSONObject) -> Review:
        """A review from the request of an AdmissionReview."""
        try:
            operation = Operation(request["operation"])
        except (KeyError, ValueError) as error:
            raise BadReview(f"no operation that is judged: {request.get('operation')!r}") from error
        return Review(
            operation,
            request.get("namespace") or "",
            request.get("name") or "",
            request.get("object") or {},
            request.get("oldObject"),
            lambda: str(uuid.uuid4()),
            time.time,
            self.gates,
            self.lookup,
            bool(request.get("dryRun")),
            self.allow_no_execute,
            inventory=self.inventory,
        )


def mutating(handler: Handler, settings: Settings) -> Answer:
    """Answers with the changes that complete an object."""
    mutate = handler.mutate
    assert mutate is not None

    async def answer(request: JSONObject) -> JSONObject:
        review = settings.review(request)
        before = copy.deepcopy(review.object)
        try:
            mutate(review)
        except Denied as denial:
            return _denied(denial)
        untrack(handler, review)
        operations = difference(before, review.object)
        if not operations:
            return _allowed(review)
        patch = base64.b64encode(orjson.dumps(operations)).decode()
        return _allowed(review) | {"patchType": "JSONPatch", "patch": patch}

    return answer


def untrack(handler: Handler, review: Review) -> None:
    """Forget who owns which field of what the controllers have just made; the API server then keeps no such record.

    It would be a third of a binding, read and written with every change, and say nothing: all fields are theirs.
    Whoever applies to such an object later is tracked from then on, beside one entry for everything that was there.
    """
    if review.operation is not Operation.CREATE or handler.resource not in _CONTROLLERS_OWN:
        return
    metadata = review.object.get("metadata") or {}
    entries = metadata.get("managedFields")
    if entries and all(entry.get("manager") == CONTROLLERS for entry in entries):
        del metadata["managedFields"]


def validating(handler: Handler, settings: Settings) -> Answer:
    """Answers whether an object is acceptable."""
    validate = handler.validate
    assert validate is not None

    async def answer(request: JSONObject) -> JSONObject:
        review = settings.review(request)
        try:
            await validate(review)
        except Denied as denial:
            return _denied(denial)
        return _allowed(review)

    return answer


async def converting(request: JSONObject) -> JSONObject:
    """Answers with bindings in another version: all of them, or none and why."""
    wanted = request.get("desiredAPIVersion") or ""
    try:
        converted = [convert(tree, wanted) for tree in request.get("objects") or []]
    except (UnknownVersionError, DecodeError) as error:
        return {"result": {"status": "Failure", "message": str(error)}}
    return {"convertedObjects": converted, "result": {"status": "Success"}}


async def answered(body: bytes, answer: Answer) -> JSONObject:
    """The review with its response, in the version it came in."""
    try:
        document: Any = orjson.loads(body)
        request = document["request"]
        uid = request["uid"]
    except (ValueError, TypeError, KeyError) as error:
        raise BadReview("the body is no review: it must be a JSON object with request.uid") from error
    response = {"uid": uid} | await answer(request)
    return {"apiVersion": document.get("apiVersion"), "kind": document.get("kind"), "response": response}


def difference(before: JSONObject, after: JSONObject) -> list[JSONObject]:
    """A JSON patch between two objects, by their top-level fields: what differs is replaced as a whole."""
    removed = [{"op": "remove", "path": f"/{key}"} for key in before if key not in after]
    return removed + [
        {"op": "add", "path": f"/{key}", "value": value}
        for key, value in after.items()
        if key not in before or before[key] != value
    ]


def _allowed(review: Review) -> JSONObject:
    answer: JSONObject = {"allowed": True, "status": {"code": 200}}
    return answer | {"warnings": review.warnings} if review.warnings else answer


def _denied(denial: Denied) -> JSONObject:
    status = {"code": denial.code, "message": denial.message}
    return {"allowed": False, "status": status | {"reason": denial.reason} if denial.reason else status}
