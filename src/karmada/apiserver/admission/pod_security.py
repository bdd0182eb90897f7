"""Pod security: namespaces say by label which standard their pods must meet; here are the checks of the standards.

Each check finds what a pod violates and says it in the words of the reference. `baseline` forbids what breaks out of
a container, `restricted` demands more on top.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from karmada.api import field_errors
from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache

_PODS: Kind = ("", "pods")
_NAMESPACES: Kind = ("", "namespaces")
_PARTS = ("ephemeralcontainers", "resize")
_PREFIX = "pod-security.kubernetes.io/"
_TEMPLATES: dict[Kind, tuple[str, ...]] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
_VERSION = re.compile(r"v1\.(0|[1-9]\d*)")
_LEVELS = ("privileged", "baseline", "restricted")


class Finding(NamedTuple):
    """A violated rule: what is wrong in short, and where."""

    reason: str
    detail: str


class PodSecurityLabels:
    """The admission plugin that refuses labels of namespaces that name no standard."""

    kinds = (_NAMESPACES,)

    def applies(self, request: AdmissionRequest) -> bool:
        """New and changed namespaces."""
        return not request.subresource and request.operation in (Operation.CREATE, Operation.UPDATE)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Levels and versions are known; wrong ones that were there before stay."""
        wrong = _label_errors(request.object)
        if wrong and wrong != _label_errors(request.old):
            raise invalid("", "Namespace", request.name, wrong)


def _label_errors(namespace: JSONObject | None) -> list[FieldError]:
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    errors = []
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(_PREFIX + mode), labels.get(f"{_PREFIX}{mode}-version")
        if level is not None and level not in _LEVELS:
            text = f"must be one of {', '.join(_LEVELS)}"
            errors.append(field_errors.invalid(f"metadata.labels[{_PREFIX}{mode}]", level, text))
        if version is not None and version != "latest" and not _VERSION.fullmatch(version):
            place = f"metadata.labels[{_PREFIX}{mode}-version]"
            errors.append(field_errors.invalid(place, version, 'must be "latest" or "v1.x"'))
    return errors


class PodSecurity:
    """The admission plugin of pod security standards."""

    kinds = (_PODS, *_TEMPLATES)

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def applies(self, request: AdmissionRequest) -> bool:
        """Pods, parts of pods and workloads in namespaces that name a standard."""
        if request.operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        kind = request.type.stored_as
        if request.subresource and not (kind == _PODS and request.subresource in _PARTS):
            return False
        return (kind == _PODS or kind in _TEMPLATES) and any(self._labels(request.namespace))

    def _labels(self, namespace: str) -> dict[str, str]:
        item = self._store.get(_NAMESPACES, "", namespace)
        if item is None:
            return {}
        return {key: value for key, value in item.index.labels.items() if key.startswith(_PREFIX)}

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Enforce on pods, warn on pods and on what makes pods."""
        pod = _pod_of(request)
        if pod is None:
            return
        labels = self._labels(request.namespace)
        if request.type.stored_as == _PODS:
            violated = _violations(labels, "enforce", pod)
            if violated:
                raise refusal(request, f"violates PodSecurity {violated}")
        warned = _violations(labels, "warn", pod)
        if warned:
            request.warnings.append(f"would violate PodSecurity {warned}")


def _pod_of(request: AdmissionRequest) -> JSONObject | None:
    value: Any = request.object
    for key in _TEMPLATES.get(request.type.stored_as, ()):
        value = value.get(key) if isinstance(value, dict) else None
    if request.old is not None and request.type.stored_as == _PODS and _only_minor(request):
        return None
    return value if isinstance(value, dict) else None


def _only_minor(request: AdmissionRequest) -> bool:
    """Whether a pod runs nothing that it did not run before: it may have been there before the standard was."""
    new, old = ((obj or {}).get("spec") or {} for obj in (request.object, request.old))
    if any(_images(new, field) != _images(old, field) for field in ("containers", "initContainers")):
        return False
    return set(_images(new, "ephemeralContainers")) <= set(_images(old, "ephemeralContainers"))


def _images(spec: JSONObject, field: str) -> list[tuple[str, str]]:
    return [(container.get("name") or "", container.get("image") or "") for container in spec.get(field) or ()]


def _violations(labels: dict[str, str], mode: str, pod: JSONObject) -> str:
    level = labels.get(_PREFIX + mode, "privileged")
    if level not in _LEVELS or level == "privileged":
        return ""
    version = labels.get(f"{_PREFIX}{mode}-version") or "latest"
    found = list(findings(level, pod))
    if not found:
        return ""
    return f'"{level}:{version}": ' + ", ".join(f"{item.reason} ({item.detail})" for item in found)


def findings(level: str, pod: JSONObject) -> Iterator[Finding]:
    """What a pod violates of a standard, in the order of the rules' names."""
    checks: list[tuple[str, Check]] = [*_BASELINE]
    if level == "restricted":
        overridden = {"capabilities", "seccompProfile"}
        checks = [check for check in checks if check[0] not in overridden] + _RESTRICTED
    for _, check in checks:
        found = check(pod.get("spec") or {}, pod.get("metadata") or {})
        if found is not None:
            yield found


Check = Callable[[JSONObject, JSONObject], Finding | None]


def _containers(spec: JSONObject) -> list[JSONObject]:
    return [
        *(spec.get("initContainers") or ()),
        *(spec.get("containers") or ()),
        *(spec.get("ephemeralContainers") or ()),
    ]


def _context(container: JSONObject) -> JSONObject:
    return container.get("securityContext") or {}


def _named(names: list[str], noun: str = "container") -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"{noun} {quoted}" if len(names) == 1 else f"{noun}s {quoted}"


def _those(spec: JSONObject, wrong: Callable[[JSONObject], bool]) -> list[str]:
    return [container["name"] for container in _containers(spec) if wrong(container)]


def _host_namespaces(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Finding("host namespaces", ", ".join(used)) if used else None


def _privileged(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names = _those(spec, lambda container: bool(_context(container).get("privileged")))
    return Finding("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


_ALLOWED_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)


def _added(container: JSONObject) -> list[str]:
    return list((_context(container).get("capabilities") or {}).get("add") or ())


def _capabilities(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names = _those(spec, lambda container: any(cap not in _ALLOWED_CAPABILITIES for cap in _added(container)))
    if not names:
        return None
    wrong = sorted({cap for c in _containers(spec) for cap in _added(c) if cap not in _ALLOWED_CAPABILITIES})
    quoted = ", ".join(f'"{cap}"' for cap in wrong)
    return Finding(
        "non-default capabilities", f"{_named(names)} must not include {quoted} in securityContext.capabilities.add"
    )


def _host_path(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
    return Finding("hostPath volumes", _named(names, "volume")) if names else None


def _host_ports(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    used: list[int] = []
    names = []
    for container in _containers(spec):
        ports = [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]
        if ports:
            names.append(container["name"])
            used += ports
    if not names:
        return None
    word = "hostPort" if len(used) == 1 else "hostPorts"
    verb = "uses" if len(names) == 1 else "use"
    return Finding("hostPort", f"{_named(names)} {verb} {word} {', '.join(str(port) for port in sorted(set(used)))}")


def _proc_mount(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names = _those(spec, lambda container: _context(container).get("procMount") not in (None, "", "Default"))
    if not names:
        return None
    return Finding("procMount", f'{_named(names)} must not set securityContext.procMount to "Unmasked"')


def _seccomp_baseline(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    parts = []
    profile = (spec.get("securityContext") or {}).get("seccompProfile") or {}
    if profile.get("type") == "Unconfined":
        parts.append('pod must not set securityContext.seccompProfile.type to "Unconfined"')
    names = _those(
        spec, lambda container: (_context(container).get("seccompProfile") or {}).get("type") == "Unconfined"
    )
    if names:
        parts.append(f'{_named(names)} must not set securityContext.seccompProfile.type to "Unconfined"')
    return Finding("seccompProfile", ", ".join(parts)) if parts else None


_SAFE_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)


def _sysctls(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    sysctls = (spec.get("securityContext") or {}).get("sysctls") or ()
    wrong = [sysctl["name"] for sysctl in sysctls if sysctl["name"] not in _SAFE_SYSCTLS]
    return Finding("forbidden sysctls", ", ".join(wrong)) if wrong else None


def _allow_escalation(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names = _those(spec, lambda container: _context(container).get("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    detail = f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Finding("allowPrivilegeEscalation != false", detail)


def _drop_all(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    keeping = _those(
        spec, lambda container: "ALL" not in ((_context(container).get("capabilities") or {}).get("drop") or ())
    )
    adding = _those(spec, lambda container: any(cap != "NET_BIND_SERVICE" for cap in _added(container)))
    parts = []
    if keeping:
        parts.append(f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        wrong = sorted({cap for c in _containers(spec) for cap in _added(c) if cap != "NET_BIND_SERVICE"})
        quoted = ", ".join(f'"{cap}"' for cap in wrong)
        parts.append(f"{_named(adding)} must not include {quoted} in securityContext.capabilities.add")
    return Finding("unrestricted capabilities", "; ".join(parts)) if parts else None


def _non_root(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    pod = (spec.get("securityContext") or {}).get("runAsNonRoot")
    explicit = _those(spec, lambda container: _context(container).get("runAsNonRoot") is False)
    if explicit:
        return Finding("runAsNonRoot != true", f"{_named(explicit)} must not set securityContext.runAsNonRoot=false")
    if pod is True:
        return None
    implicit = _those(spec, lambda container: _context(container).get("runAsNonRoot") is None)
    if pod is False:
        return Finding("runAsNonRoot != true", "pod must not set securityContext.runAsNonRoot=false")
    if not implicit:
        return None
    return Finding("runAsNonRoot != true", f"pod or {_named(implicit)} must set securityContext.runAsNonRoot=true")


def _run_as_user(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    parts = []
    if (spec.get("securityContext") or {}).get("runAsUser") == 0:
        parts.append("pod must not set runAsUser=0")
    names = _those(spec, lambda container: _context(container).get("runAsUser") == 0)
    if names:
        parts.append(f"{_named(names)} must not set runAsUser=0")
    return Finding("runAsUser=0", ", ".join(parts)) if parts else None


_VOLUME_TYPES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)


def _volume_types(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    names, kinds = [], set()
    for volume in spec.get("volumes") or ():
        wrong = [key for key in volume if key != "name" and key not in _VOLUME_TYPES]
        if wrong:
            names.append(volume["name"])
            kinds.update(wrong)
    if not names:
        return None
    quoted = ", ".join(f'"{kind}"' for kind in sorted(kinds))
    word = "type" if len(kinds) == 1 else "types"
    verb = "uses" if len(names) == 1 else "use"
    return Finding("restricted volume types", f"{_named(names, 'volume')} {verb} restricted volume {word} {quoted}")


def _seccomp(spec: JSONObject, metadata: JSONObject) -> Finding | None:
    allowed = ("RuntimeDefault", "Localhost")
    pod = ((spec.get("securityContext") or {}).get("seccompProfile") or {}).get("type")

    def kind(container: JSONObject) -> Any:
        return (_context(container).get("seccompProfile") or {}).get("type")

    explicit = _those(spec, lambda container: kind(container) is not None and kind(container) not in allowed)
    implicit = _those(spec, lambda container: kind(container) is None)
    if explicit:
        wrong = sorted({str(kind(c)) for c in _containers(spec) if kind(c) not in (None, *allowed)})
        quoted = ", ".join(f'"{value}"' for value in wrong)
        return Finding(
            "seccompProfile", f"{_named(explicit)} must not set securityContext.seccompProfile.type to {quoted}"
        )
    if pod is not None and pod not in allowed:
        return Finding("seccompProfile", f'pod must not set securityContext.seccompProfile.type to "{pod}"')
    if pod is None and implicit:
        detail = (
            f'pod or {_named(implicit)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        )
        return Finding("seccompProfile", detail)
    return None


_BASELINE: list[tuple[str, Check]] = [
    ("capabilities", _capabilities),
    ("hostNamespaces", _host_namespaces),
    ("hostPath", _host_path),
    ("hostPorts", _host_ports),
    ("privileged", _privileged),
    ("procMount", _proc_mount),
    ("seccompProfile", _seccomp_baseline),
    ("sysctls", _sysctls),
]
_RESTRICTED: list[tuple[str, Check]] = [
    ("allowPrivilegeEscalation", _allow_escalation),
    ("capabilities_restricted", _drop_all),
    ("restrictedVolumes", _volume_types),
    ("runAsNonRoot", _non_root),
    ("runAsUser", _run_as_user),
    ("seccompProfile_restricted", _seccomp),
]
