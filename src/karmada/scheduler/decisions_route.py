"""`/decisions/<namespace>/<name>` (or `/decisions/<name>` without a namespace) on the diagnostics server.

Who may read the binding may read the decisions about it: the caller's token is checked by the API server (TokenReview),
and so is the permission (SubjectAccessReview). Without a token, or when the API server cannot be asked, nothing is
reported.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

import msgspec

from karmada.api import decision as decisions
from karmada.machinery.client import Client
from karmada.machinery.clock import rfc3339
from karmada.machinery.errors import ApiError
from karmada.machinery.serving import DiagnosticsRequest, DiagnosticsResponse
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.scheduler.decision_history import DecisionHistory
from karmada.scheduler.keys import BindingKey

PREFIX = "/decisions/"
TOKEN_REVIEWS = GroupVersionResource("authentication.k8s.io", "v1", "tokenreviews")
ACCESS_REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")

Authorize = Callable[[str, BindingKey], Awaitable[int]]
"""(token, binding) -> the HTTP status: 200, 401 or 403."""


def decisions_route(
    ring: DecisionHistory, authorize: Authorize
) -> Callable[[DiagnosticsRequest], Awaitable[DiagnosticsResponse]]:
    """The handler of the route."""

    async def answer(request: DiagnosticsRequest) -> DiagnosticsResponse:
        key = binding_at(request.path)
        if key is None:
            return DiagnosticsResponse(b"write /decisions/<namespace>/<name> or /decisions/<name>\n", 404)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        status = await authorize(token.strip(), key) if scheme.lower() == "bearer" and token.strip() else 401
        if status != 200:
            return DiagnosticsResponse(b"unauthorized\n" if status == 401 else b"forbidden\n", status)
        return DiagnosticsResponse(reported(ring, key), content_type="application/json")

    return answer


def binding_at(path: str) -> BindingKey | None:
    """The binding that a path is about."""
    parts = [unquote(part) for part in path.removeprefix(PREFIX).split("/")]
    if not 1 <= len(parts) <= 2 or not all(parts):
        return None
    return BindingKey(parts[0], parts[1]) if len(parts) == 2 else BindingKey("", parts[0])


def reported(ring: DecisionHistory, key: BindingKey) -> bytes:
    """What is remembered about a binding, newest first."""
    items = [
        {"time": rfc3339(noted.at), "cause": noted.cause, "decision": msgspec.Raw(decisions.encode(noted.decision))}
        for noted in ring.of(key)
    ]
    return msgspec.json.encode({"items": items})


def by_review(client: Client) -> Authorize:
    """Ask the API server who the caller is and what the caller may do."""

    async def authorize(token: str, key: BindingKey) -> int:
        try:
            known = await client.resource(TOKEN_REVIEWS).create(
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
            )
            status = known.get("status") or {}
            if not status.get("authenticated"):
                return 401
            review = await client.resource(ACCESS_REVIEWS).create(_review(status.get("user") or {}, key))
        except ApiError:
            return 403
        return 200 if (review.get("status") or {}).get("allowed") else 403

    return authorize


def _review(user: JSONObject, key: BindingKey) -> JSONObject:
    wanted = {
        "verb": "get",
        "group": "work.karmada.io",
        "resource": "resourcebindings" if key.namespace else "clusterresourcebindings",
        "namespace": key.namespace,
        "name": key.name,
    }
    spec = {
        "user": user.get("username", ""),
        "uid": user.get("uid", ""),
        "groups": user.get("groups") or [],
        "extra": user.get("extra") or {},
        "resourceAttributes": wanted,
    }
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
