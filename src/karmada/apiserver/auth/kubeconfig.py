"""Kubeconfig files for the users the server makes."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karmada.apiserver.auth.pki import write_file

JSONObject = dict[str, Any]


def kubeconfig(
    server: str,
    authority: bytes,
    *,
    cluster: str = "karmada",
    user: str = "admin",
    certificate: bytes = b"",
    key: bytes = b"",
    token: str = "",
) -> JSONObject:
    """A Config with one cluster, user and context; the credentials are a certificate with its key, or a token."""
    credentials: JSONObject = {"token": token} if token else {}
    if certificate:
        credentials["client-certificate-data"] = base64.b64encode(certificate).decode()
        credentials["client-key-data"] = base64.b64encode(key).decode()
    context = cluster
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()},
            }
        ],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
        "preferences": {},
    }


def write_kubeconfig(path: Path, config: JSONObject) -> None:
    """Write a Config as YAML, readable by its owner only."""
    write_file(path, written(config).encode(), 0o600)


def written(config: JSONObject) -> str:
    """A Config as YAML."""
    return "\n".join(_lines(config)) + "\n"


def _lines(value: JSONObject) -> Iterator[str]:
    """Block YAML of an object whose lists hold objects. A YAML library would cost more than the rest of the start."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield f"{key}:"
            yield from (f"  {line}" for line in _lines(item))
        elif isinstance(item, list):
            yield f"{key}:"
            for element in item:
                first, *rest = _lines(element)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        else:
            yield f"{key}: {json.dumps(item)}"
