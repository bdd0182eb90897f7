"""Composite resource versions and continue tokens: one opaque text for the versions of many clusters.

A composite version is unpadded URL-safe base64 of a JSON object from cluster to version, keys sorted, so that equal
versions are equal texts. What cannot be read counts as no version. `0` stands for "whatever is there" in all clusters.
"""

import base64
import re
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import orjson

_BASE64 = re.compile(r"[A-Za-z0-9_-]*")


class ResourceVersions:
    """The resource version of each cluster; a cluster that is absent has none."""

    def __init__(self, versions: Mapping[str, str] | None = None, *, is_zero: bool = False) -> None:
        self.versions: dict[str, str] | None = dict(versions or {})
        """None where the text held a JSON null."""
        self.is_zero = is_zero

    @classmethod
    def parse(cls, text: str) -> "ResourceVersions":
        """Read a resource version given by a client; what is unreadable counts as none."""
        if text == "0":
            return cls(is_zero=True)
        found = decoded(text)
        made = cls(_texts(found) if isinstance(found, dict) else {})
        if text and found is None and _is_null(text):
            made.versions = None
        return made

    def get(self, cluster: str) -> str:
        """The version of a cluster, empty when it has none."""
        return "0" if self.is_zero else (self.versions or {}).get(cluster, "")

    def set(self, cluster: str, version: str) -> None:
        """Replace the version of a cluster."""
        if self.versions is None:
            self.versions = {}
        self.versions[cluster] = version
        if version != "0":
            self.is_zero = False

    def drop(self, cluster: str) -> None:
        """The cluster has no version any more."""
        (self.versions or {}).pop(cluster, None)

    def keep(self, clusters: Container[str]) -> None:
        """Forget all other clusters: whoever invents some must not get them back with every object."""
        if self.versions:
            self.versions = {cluster: version for cluster, version in self.versions.items() if cluster in clusters}

    def __str__(self) -> str:
        if self.is_zero:
            return "0"
        return _encoded(orjson.dumps(self.versions, option=orjson.OPT_SORT_KEYS)) if self.versions else ""


class Continue(NamedTuple):
    """Where a list goes on: in which cluster, after what there, at which versions."""

    versions: str = ""
    cluster: str = ""
    token: str = ""
    """The continue token within that cluster; empty at its beginning."""

    @classmethod
    def parse(cls, text: str) -> "Continue":
        """Read a token; an unreadable one begins anew."""
        found = decoded(text)
        if not isinstance(found, dict):
            return cls()
        texts = _texts(found)
        return cls(texts.get("rv", ""), texts.get("cluster", ""), texts.get("continue", ""))

    def __str__(self) -> str:
        """The token; empty after the last cluster."""
        if not self.cluster:
            return ""
        payload = {"rv": self.versions, "cluster": self.cluster}
        return _encoded(orjson.dumps(payload | {"continue": self.token} if self.token else payload))


def member_version(text: str, cluster: str) -> str | None:
    """The version that a composite one has for a cluster; None when the text is no composite version."""
    found = decoded(text)
    return _texts(found).get(cluster, "") if isinstance(found, dict) else None


def decoded(text: str) -> Any:
    """The JSON value in unpadded URL-safe base64; None where there is none."""
    if not text or not _BASE64.fullmatch(text) or len(text) % 4 == 1:
        return None
    try:
        return orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        return None


def _is_null(text: str) -> bool:
    return text == _encoded(b"null")


def _texts(found: dict[str, Any]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else "" for key, value in found.items()}


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
