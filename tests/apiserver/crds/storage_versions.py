"""A custom kind gets another storage version, its objects are migrated, and the old version goes: step by step."""

import time
from collections.abc import Callable
from typing import Any

from karmada.testing.differential.kube.peers import Answer, Peer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "parts.storage.example.com"
THINGS = "/apis/storage.example.com/{}/namespaces/default/parts"
PATIENCE = 60.0
EMPTY_PATCH = {"Content-Type": "application/merge-patch+json"}
MIGRATION = "must remain in spec.versions until a storage migration ensures no data remains persisted in v1"


def version(name: str, *, storage: bool, **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **more}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def define(peer: Peer, *versions: dict[str, Any]) -> Answer:
    """Give the kind these versions."""
    found = peer.send("GET", f"{CRDS}/{NAME}")
    names = {"plural": "parts", "kind": "Part"}
    spec = {"group": "storage.example.com", "scope": "Namespaced", "names": names, "versions": list(versions)}
    obj: dict[str, Any] = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    if found.code == 404:
        return peer.send("POST", CRDS, {**obj, "metadata": {"name": NAME}})
    return peer.send("PUT", f"{CRDS}/{NAME}", {**found.body, **obj})


def until(holds: Callable[[], bool]) -> None:
    """Wait: a stock server follows its definitions."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)


def answers(peer: Peer, served: str, code: int) -> None:
    """Wait until a version is served, or not any more."""
    until(lambda: peer.send("GET", THINGS.format(served)).code == code)


def create(peer: Peer, *names: str) -> None:
    for name in names:
        part = {"apiVersion": "storage.example.com/v1", "kind": "Part", "metadata": {"name": name}}
        assert peer.send("POST", THINGS.format("v1"), {**part, "spec": {"size": 1}}).code == 201


def rewritten(peer: Peer, name: str, how: str, served: str) -> bool:
    """Whether a write that changes nothing makes another revision: it does where the object was stored otherwise."""
    path = f"{THINGS.format(served)}/{name}"
    before = peer.send("GET", path).body
    after = peer.send("PUT", path, before) if how == "PUT" else peer.send("PATCH", path, {}, EMPTY_PATCH)
    assert after.code == 200, after
    assert after.body["spec"] == before["spec"]
    return bool(after.body["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"])


def stored(answer: Answer) -> Any:
    return answer.body["status"]["storedVersions"]


def migrated(peer: Peer, *versions: str) -> tuple[int, list[str]]:
    """Say that objects are stored in these versions only; what is then kept of it."""
    crd = peer.send("GET", f"{CRDS}/{NAME}").body
    crd["status"]["storedVersions"] = list(versions)
    answer = peer.send("PUT", f"{CRDS}/{NAME}/status", crd)
    return answer.code, stored(peer.send("GET", f"{CRDS}/{NAME}"))


def refusal(answer: Answer) -> tuple[int, list[str], bool]:
    """Code, fields and whether the reason is that objects may be stored in a version."""
    fields = [cause["field"] for cause in answer.body["details"]["causes"]]
    return answer.code, fields, MIGRATION in answer.body["message"]


def read(peer: Peer, name: str, served: str) -> tuple[int, Any, Any]:
    answer = peer.send("GET", f"{THINGS.format(served)}/{name}")
    return answer.code, answer.body.get("apiVersion"), answer.body.get("spec")


def outcomes(peer: Peer) -> dict[str, Any]:
    """What a server says at every step."""
    old, new, only = version("v1", storage=False), version("v2", storage=True), version("v1", storage=True)
    found: dict[str, Any] = {"first": stored(define(peer, only))}
    answers(peer, "v1", 200)
    create(peer, "a", "b", "c")
    found["second"] = stored(define(peer, old, new))
    answers(peer, "v2", 200)
    found["read"] = [read(peer, "a", each) for each in ("v1", "v2")]
    found["listed"] = [one["apiVersion"] for one in peer.send("GET", THINGS.format("v2")).body["items"]]
    found["migrated by PUT"] = [rewritten(peer, "a", "PUT", "v2") for _ in range(2)]
    found["migrated by an empty patch"] = [rewritten(peer, "b", "PATCH", "v2") for _ in range(2)]
    found["migrated by its old version"] = [rewritten(peer, "c", "PUT", "v1") for _ in range(2)]
    found["still served"] = [read(peer, "a", each) for each in ("v1", "v2")]
    found["too early"] = refusal(define(peer, new))
    found["said to be migrated"] = [migrated(peer, *each) for each in (["v1"], [], ["v2"])]
    found["only new"] = stored(define(peer, new))
    answers(peer, "v1", 404)
    found["at last"] = [read(peer, name, "v2") for name in ("a", "b", "c")]
    define(peer, version("v2", storage=True, colour={"type": "string", "default": "blue"}))
    until(lambda: read(peer, "a", "v2")[2] == {"size": 1, "colour": "blue"})
    found["written with its default"] = [rewritten(peer, "a", "PUT", "v2") for _ in range(2)]
    peer.send("DELETE", f"{CRDS}/{NAME}")
    return found


NEW = (200, "storage.example.com/v2", {"size": 1})
OLD = (200, "storage.example.com/v1", {"size": 1})
STOCK = {
    "first": ["v1"],
    "second": ["v1", "v2"],
    "read": [OLD, NEW],
    "listed": ["storage.example.com/v2"] * 3,
    "migrated by PUT": [True, False],
    "migrated by an empty patch": [True, False],
    "migrated by its old version": [True, False],
    "still served": [OLD, NEW],
    "too early": (422, ["status.storedVersions[0]"], True),
    "said to be migrated": [(200, ["v1"]), (200, ["v2"]), (200, ["v2"])],
    "only new": ["v2"],
    "at last": [NEW, NEW, NEW],
    "written with its default": [True, False],
}
"""What a stock kube-apiserver 1.36 says; tests/engine/stage/test_storage_versions.py asks one."""
