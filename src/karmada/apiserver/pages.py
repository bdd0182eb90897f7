"""Paths that are no resources: health, version, metrics, discovery and OpenAPI."""

import platform
from collections.abc import Callable, Mapping

import orjson

from karmada.apiserver.catalog import Catalog
from karmada.apiserver.requests.model import Answer

_TEXT = "text/plain; charset=utf-8"
_HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
KUBERNETES_VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": f"python{platform.python_version()}",
    "compiler": platform.python_implementation(),
    "platform": "linux/amd64",
}
"""The Kubernetes version whose API is served."""


class ServerPages:
    """Answers for every path that names no resource."""

    def __init__(self, catalog: Catalog, ready: Callable[[], dict[str, bool]]) -> None:
        self._catalog = catalog
        self._ready = ready

    async def answer(self, method: str, path: str, params: Mapping[str, str], accept: str) -> Answer | None:
        """The page at a path, None where there is none."""
        path = path.rstrip("/") or "/"
        head, _, check = path[1:].partition("/")
        if "/" + head in _HEALTH:
            return self._health("/" + head, check, params)
        if path == "/version":
            return Answer(200, orjson.dumps(KUBERNETES_VERSION))
        return self._discovery(path)

    def _health(self, page: str, check: str, params: Mapping[str, str]) -> Answer:
        checks = self._ready()
        if check:
            if check not in checks:
                return Answer(404, b"404 page not found\n", _TEXT)
            checks = {check: checks[check]}
        healthy = all(checks.values())
        if healthy and "verbose" not in params:
            return Answer(200, b"ok", _TEXT)
        lines = [f"[{'+' if ok else '-'}]{name} {'ok' if ok else 'failed: not ready'}" for name, ok in checks.items()]
        lines.append(f"{page[1:]} check {'passed' if healthy else 'failed'}")
        return Answer(200 if healthy else 500, ("\n".join(lines) + "\n").encode(), _TEXT)

    def _discovery(self, path: str) -> Answer | None:
        types = self._catalog.types()
        if path == "/api":
            return _json({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        if path == "/apis":
            groups: dict[str, list[str]] = {}
            for t in types:
                if t.group and t.version not in groups.setdefault(t.group, []):
                    groups[t.group].append(t.version)
            return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": g, "versions": [{"groupVersion": f"{g}/{v}", "version": v} for v in vs],
                 "preferredVersion": {"groupVersion": f"{g}/{vs[0]}", "version": vs[0]}} for g, vs in groups.items()]})
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) == 2:
            group, version = "", parts[1]
        elif parts[0] == "apis" and len(parts) == 3:
            group, version = parts[1:]
        else:
            return None
        found = [t for t in types if t.group == group and t.version == version]
        if not found:
            return None
        resources = []
        for t in found:
            resources.append({"name": t.plural, "singularName": t.singular, "namespaced": t.namespaced, "kind": t.kind, "verbs": list(t.verbs), "shortNames": list(t.short_names), "categories": list(t.categories)})
            for s in t.subresources:
                resources.append({"name": f"{t.plural}/{s.name}", "singularName": "", "namespaced": t.namespaced, "kind": s.kind, "verbs": list(s.verbs)})
        return _json({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}".strip("/"), "resources": resources})


def _json(body: object) -> Answer:
    return Answer(200, orjson.dumps(body))
