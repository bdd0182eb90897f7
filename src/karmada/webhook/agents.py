"""The webhook for what agents write (`membership.agent_writes`), beside API servers that do not know these rules.

The API server asks about requests of agents only, so that nobody else depends on this webhook.
"""

from collections.abc import Callable, Sequence

from karmada.api import names
from karmada.membership import agent_writes
from karmada.membership.agent_identity import is_agent
from karmada.webhook.model import JSONObject

PATH = "/validate-agent"
SECONDS = 3


async def judge_agent(request: JSONObject) -> JSONObject:
    """Answer the request of an AdmissionReview."""
    user = (request.get("userInfo") or {}).get("username") or ""
    written = request.get("object")
    if not is_agent(user) or not written:
        return {"allowed": True, "status": {"code": 200}}
    resource = request.get("resource") or {}
    kind = (resource.get("group") or "", resource.get("resource") or "")
    name = request.get("name") or (written.get("metadata") or {}).get("name") or ""
    why = agent_writes.problem(user, kind, name, written, request.get("oldObject"))
    if not why:
        return {"allowed": True, "status": {"code": 200}}
    return {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": why}}


def agent_webhook(client_config: Callable[[str], JSONObject]) -> JSONObject:
    """The entry of the webhook configuration."""
    rules = [
        {
            "operations": ["CREATE", "UPDATE"],
            "apiGroups": [group],
            "apiVersions": ["*"],
            "resources": [plural, *([f"{plural}/status"] if (group, plural) in agent_writes.REPORTED else [])],
            "scope": "*",
        }
        for group, plural in agent_writes.JUDGED
    ]
    agents = f"request.userInfo.username.startsWith('{names.AGENT_USER_PREFIX}')"
    # Agents write many events about Works, which need no judgement: the execution space is theirs.
    about_clusters = "has(object.involvedObject.kind) && object.involvedObject.kind == 'Cluster'"
    # So are the Works that the control plane made for bindings, and those of nobody's, but for what they report.
    reports = "has(request.subResource) && request.subResource == 'status'"
    for_bindings = " || ".join(_gained(field, keys) for field, keys in agent_writes.BINDING_MARKS.items())
    judged = (
        f"(request.resource.resource != 'events' || ({about_clusters})) && "
        f"(request.resource.resource != 'works' || ({reports}) || {for_bindings})"
    )
    return {
        "name": "agent.karmada.io",
        "clientConfig": client_config(PATH),
        "rules": rules,
        "matchConditions": [{"name": "agents", "expression": agents}, {"name": "judged", "expression": judged}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": SECONDS,
    }


def _gained(field: str, keys: Sequence[str]) -> str:
    """Whether labels or annotations have keys that they had not, or with other values."""
    new, old = f"object.metadata.{field}", f"oldObject.metadata.{field}"
    had = f"oldObject != null && has({old}) && key in {old} && {old}[key] == {new}[key]"
    return f"(has({new}) && {list(keys)}.exists(key, key in {new} && !({had})))"
