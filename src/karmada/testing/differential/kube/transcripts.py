"""Differences kept as regressions: the requests that showed one, with what kube-apiserver answered to the last.

    {"name": ..., "steps": [{"method", "path", ...}, ...], "code": ..., "body": ..., "warnings": [...]}

Bodies are normalised and without ownership, which has tests of its own; of refusals the reasons and fields are kept.
"""

import copy
from typing import Any
from urllib.parse import quote

from karmada.api import merge_patch
from karmada.testing.differential.kube.comparing import difference, plain, take_ownership
from karmada.testing.differential.kube.peers import Answer, Peer
from karmada.testing.differential.kube.scenarios import Step

Transcript = dict[str, Any]


def record(peer: Peer, name: str, steps: list[Step], variables: dict[str, Any]) -> Transcript:
    """A transcript with the answers of the peer."""
    answer = _send(peer, steps, variables)
    body = plain(answer.body)
    take_ownership(body)
    if answer.code >= 400 and isinstance(body, dict):
        causes = [{"reason": one.get("reason"), "field": one.get("field")} for one in _causes(body)]
        body = {"kind": body["kind"], "apiVersion": body["apiVersion"], "reason": body.get("reason")}
        body["details"] = {"causes": causes}
    return {"name": name, "steps": steps, "code": answer.code, "body": body, "warnings": list(answer.warnings)}


def replay(peer: Peer, transcript: Transcript, variables: dict[str, Any]) -> str:
    """How the peer's last answer differs in code, object, or causes; empty when it does not."""
    own = _send(peer, transcript["steps"], variables)
    body = filled(transcript["body"], variables)
    take_ownership(own.body)
    found = difference(Answer(transcript["code"], body, tuple(transcript["warnings"])), own)
    return ": ".join(found) if found is not None and found[0] in ("code", "object", "causes") else ""


def _causes(status: dict[str, Any]) -> list[dict[str, Any]]:
    return (status.get("details") or {}).get("causes") or []


def _send(peer: Peer, steps: list[Step], variables: dict[str, Any]) -> Answer:
    variables = dict(variables)
    peer.send("POST", "/api/v1/namespaces", {"metadata": {"name": variables["ns"]}})
    answer = Answer(0, None)
    for step in steps:
        one = filled(copy.deepcopy(step), variables)
        answer = peer.send(one["method"], one["path"], body_of(one, variables), one.get("headers"))
        remember(answer, variables)
    return answer


def body_of(step: Step, variables: dict[str, Any]) -> Any:
    """What a filled step sends: its body, or the last object with the step's changes."""
    if "changes" not in step:
        return step.get("body")
    return merge_patch.apply(copy.deepcopy(variables.get("last") or {}), step["changes"])


def remember(answer: Answer, variables: dict[str, Any]) -> None:
    """Keep version and uid of the object in an answer for later steps, the first version, and where a list goes on."""
    meta = answer.body.get("metadata") if isinstance(answer.body, dict) else None
    if answer.code < 300 and isinstance(meta, dict) and meta.get("continue"):
        variables["continue"] = quote(meta["continue"])
    if answer.code < 300 and isinstance(meta, dict) and meta.get("uid") and meta.get("resourceVersion"):
        variables["rv"], variables["uid"] = meta["resourceVersion"], meta["uid"]
        variables["last"] = answer.body
        variables.setdefault("first", meta["resourceVersion"])


def filled(value: Any, variables: dict[str, Any]) -> Any:
    """A tree with the variables `${name}` in its texts replaced."""
    if isinstance(value, dict):
        return {filled(key, variables): filled(child, variables) for key, child in value.items()}
    if isinstance(value, list):
        return [filled(child, variables) for child in value]
    if isinstance(value, str) and "${" in value:
        for name, text in variables.items():
            if isinstance(text, str):
                value = value.replace(f"${{{name}}}", text)
    return value
