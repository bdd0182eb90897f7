"""Reads kubeconfig files and the files Kubernetes puts into pods.

Several files (`KUBECONFIG=a:b`) are merged: the first to say something wins. Relative paths are relative to the file
that names them. Everything that is missing or contradictory is said with the file, the entry and what to do.
"""

import base64
import binascii
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from karmada.machinery.http import plain_yaml
from karmada.machinery.http.target import DEFAULT_NAMESPACE, NOTHING, ExecPlugin, Identity, Material, Target

if TYPE_CHECKING:
    from pathlib import Path

    Place = str | Path

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECTIONS = {"clusters": "cluster", "contexts": "context", "users": "user"}


class KubeconfigError(ValueError):
    """A kubeconfig cannot be used as it is."""


class Kubeconfig:
    """One or more kubeconfig files, merged."""

    def __init__(self, documents: "Iterable[tuple[Place | None, Mapping[str, Any]]]") -> None:
        self.current_context = ""
        self._entries: dict[str, dict[str, tuple[Place | None, Mapping[str, Any]]]] = {
            section: {} for section in _SECTIONS
        }
        for path, document in documents:
            if not isinstance(document, dict):
                raise KubeconfigError(f"{path}: a kubeconfig is a mapping with clusters, users and contexts")
            self.current_context = self.current_context or str(document.get("current-context") or "")
            for section, inner in _SECTIONS.items():
                for entry in document.get(section) or ():
                    self._entries[section].setdefault(str(entry["name"]), (path, entry.get(inner) or {}))

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of the contexts, in order."""
        return tuple(self._entries["contexts"])

    def target(self, context: str = "") -> Target:
        """What the named context (the current one by default) connects to."""
        name = context or self.current_context
        if not name:
            raise KubeconfigError("no context is chosen: set current-context or name one with --context")
        _, chosen = self._entry("contexts", name)
        base, cluster = self._entry("clusters", str(chosen.get("cluster") or ""))
        server = str(cluster.get("server") or "")
        if not server:
            raise KubeconfigError(f'cluster "{chosen.get("cluster")}" of context "{name}" has no server')
        return Target(
            server=server.rstrip("/"),
            authority=_material(base, cluster, "certificate-authority"),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            server_name=str(cluster.get("tls-server-name") or ""),
            proxy=str(cluster.get("proxy-url") or ""),
            identity=self._identity(str(chosen.get("user") or "")),
            namespace=str(chosen.get("namespace") or DEFAULT_NAMESPACE),
        )

    def _identity(self, name: str) -> Identity:
        if not name:
            return Identity()
        base, user = self._entry("users", name)
        if "auth-provider" in user:
            raise KubeconfigError(f'user "{name}" uses auth-provider, which Kubernetes removed: use an exec plugin')
        token = Material(str(user["token"]).encode()) if user.get("token") else NOTHING
        if not token and user.get("tokenFile"):
            token = Material(path=_absolute(base, str(user["tokenFile"])))
        return Identity(
            certificate=_material(base, user, "client-certificate"),
            key=_material(base, user, "client-key"),
            token=token,
            username=str(user.get("username") or ""),
            password=str(user.get("password") or ""),
            plugin=_plugin(name, base, user["exec"]) if user.get("exec") else None,
            impersonate_user=str(user.get("as") or ""),
            impersonate_uid=str(user.get("as-uid") or ""),
            impersonate_groups=tuple(user.get("as-groups") or ()),
        )

    def _entry(self, section: str, name: str) -> "tuple[Place | None, Mapping[str, Any]]":
        found = self._entries[section].get(name)
        if found is None:
            known = ", ".join(self._entries[section]) or "none"
            raise KubeconfigError(f'no {_SECTIONS[section]} "{name}" in the kubeconfig (there are: {known})')
        return found


def load(paths: "Iterable[Place]") -> Kubeconfig:
    """Read and merge files; those that do not exist are left out, but one must."""
    wanted = list(paths)
    documents = [(path, _parse(_content(path), str(path))) for path in wanted if os.path.isfile(path)]
    if not documents:
        raise KubeconfigError(f"no kubeconfig found at {', '.join(map(str, wanted))}")
    return Kubeconfig(documents)


def default_paths(explicit: str = "", environment: Mapping[str, str] = os.environ) -> list[str]:
    """Where to look: the path given, KUBECONFIG, or the home directory's."""
    if explicit:
        return [explicit]
    if environment.get("KUBECONFIG"):
        return [part for part in environment["KUBECONFIG"].split(os.pathsep) if part]
    return [os.path.join(os.path.expanduser("~"), ".kube", "config")]


def find_target(explicit: str = "", context: str = "", environment: Mapping[str, str] = os.environ) -> Target:
    """What a program should connect to: a kubeconfig if one is given or there, else the cluster it runs in."""
    paths = default_paths(explicit, environment)
    if explicit or context or any(map(os.path.isfile, paths)) or "KUBERNETES_SERVICE_HOST" not in environment:
        return load(paths).target(context)
    return in_cluster(environment)


def from_bytes(content: bytes) -> Kubeconfig:
    """A kubeconfig that is no file (from a Secret, say): whoever wrote it may neither name files nor start programs."""
    return Kubeconfig([(None, _parse(content, "the kubeconfig"))])


def in_cluster(environment: Mapping[str, str] = os.environ, folder: "Place" = SERVICE_ACCOUNT) -> Target:
    """The API server of the cluster this process runs in, as the pod's service account."""
    from pathlib import Path

    directory = Path(folder)
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not (directory / "token").is_file():
        raise KubeconfigError("this process does not run in a pod: give a kubeconfig")
    namespace = directory / "namespace"
    return Target(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        authority=Material(path=str(directory / "ca.crt")),
        identity=Identity(token=Material(path=str(directory / "token"))),
        namespace=namespace.read_text().strip() if namespace.is_file() else DEFAULT_NAMESPACE,
    )


def _parse(content: bytes, name: str) -> Mapping[str, Any]:
    plain = plain_yaml.read(content)
    if plain is not None:
        return plain
    from karmada.machinery import small_json

    try:
        parsed: Mapping[str, Any] = small_json.loads(content)
        return parsed
    except ValueError:
        pass
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        document: Mapping[str, Any] = yaml.load(content, Loader=loader) or {}
    except yaml.YAMLError as error:
        raise KubeconfigError(f"{name} is not valid YAML: {error}") from error
    return document


def _content(path: "Place") -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _absolute(base: "Place | None", path: str) -> str:
    if base is None:
        raise KubeconfigError(f"the kubeconfig names the file {path}, but is no file itself: embed the data")
    return os.path.join(os.path.dirname(base), path.removeprefix("./"))


def _material(base: "Place | None", entry: Mapping[str, Any], name: str) -> Material:
    if data := entry.get(f"{name}-data"):
        try:
            return Material(base64.b64decode(data, validate=True))
        except binascii.Error as error:
            raise KubeconfigError(f"{name}-data is not valid base64") from error
    return Material(path=_absolute(base, str(entry[name]))) if entry.get(name) else NOTHING


def _plugin(user: str, base: "Place | None", entry: Mapping[str, Any]) -> ExecPlugin:
    if base is None:
        why = "which is not run for a kubeconfig that is no file itself: give a token or certificate"
        raise KubeconfigError(f'user "{user}" uses an exec plugin, {why}')
    command = str(entry.get("command") or "")
    if not command:
        raise KubeconfigError(f'the exec plugin of user "{user}" has no command')
    if os.sep in command:
        command = _absolute(base, command)
    return ExecPlugin(
        command=command,
        arguments=tuple(map(str, entry.get("args") or ())),
        environment=tuple((str(item["name"]), str(item["value"])) for item in entry.get("env") or ()),
        api_version=str(entry.get("apiVersion") or "client.authentication.k8s.io/v1"),
        provide_cluster_info=bool(entry.get("provideClusterInfo")),
        install_hint=str(entry.get("installHint") or ""),
    )
