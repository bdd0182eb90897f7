"""Validation of pods and pod templates."""

import re
from collections.abc import Mapping

from karmada.api.caching import clean_cache
from karmada.api.field_errors import duplicate, forbidden, invalid, not_found, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    ip_address,
    label_map,
    non_negative,
    qualified_name,
    unsupported,
)
from karmada.apiserver.builtin.strategies.compute_resources import PodClaims, claim_errors, resource_errors
from karmada.apiserver.builtin.strategies.container_validation import (
    common_errors,
    init_errors,
    restarting,
    running_errors,
)
from karmada.apiserver.builtin.strategies.devices import too_many
from karmada.apiserver.builtin.strategies.pod_resources import pod_resource_errors
from karmada.apiserver.builtin.strategies.scheduling_rules import AFFINITY, spread
from karmada.apiserver.builtin.strategies.security_contexts import POD_SECURITY, host_sysctls, system_errors
from karmada.apiserver.builtin.strategies.tables import choice, each, fields, filled, needed, optional, too_long, within
from karmada.apiserver.builtin.strategies.tolerations import toleration_errors
from karmada.apiserver.builtin.strategies.volume_sources import volume_errors
from karmada.apiserver.schema.metadata import annotations, labels

MOST_CONTAINERS = 10_000
"""Containers of a sort in a pod: with what they have by default, no more fit into an object that can be stored."""
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_MAX_INT32 = 2**31 - 1
_MOST_SERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES, _LONGEST_HOST = 3, 32, 2048, 64
_SYSTEMS = ("linux", "windows")
_SEARCH_PART = "[_a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = re.compile(rf"(?=.{{1,253}}$)({_SEARCH_PART})(\.{_SEARCH_PART})*")
_SEARCH_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*')"
)
_NOT_EPHEMERAL = (
    *("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources", "resizePolicy"),
    *("restartPolicy", "restartPolicyRules"),
)


def template_errors(template: JSONObject, path: str, old: JSONObject | None = None) -> Errors:
    """What is wrong with a pod template; nothing when it is the old one."""
    if template == old:
        return []
    metadata = template.get("metadata") or {}
    errors = labels(metadata.get("labels"), f"{path}.labels")
    errors += annotations(metadata.get("annotations"), f"{path}.annotations")
    spec = template.get("spec") or {}
    return errors + _template_spec(spec, f"{path}.spec")


@clean_cache(1024)
def _template_spec(spec: JSONObject, path: str) -> Errors:
    errors = spec_errors(spec, path)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(f"{path}.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return errors


def always_restarts(spec: JSONObject, path: str, kind: str) -> Errors:
    """Workloads that keep pods running accept no other restart policy, and no deadline."""
    errors: Errors = []
    if spec.get("restartPolicy") != "Always":
        errors.append(unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        errors.append(forbidden(f"{path}.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"))
    return errors


def spec_errors(spec: JSONObject, path: str, pod: JSONObject | None = None) -> Errors:
    """What is wrong with a pod spec; `pod` is the metadata of a pod, None for a template."""
    crowded = [
        error for name in _CONTAINERS for error in too_many(f"{path}.{name}", spec.get(name) or (), MOST_CONTAINERS)
    ]
    if crowded:
        return crowded
    errors, volumes = volume_errors(f"{path}.volumes", spec.get("volumes") or [], pod)
    errors += _containers(path, spec, volumes) + _POD(path, spec)
    errors += host_sysctls(spec, path) + pod_resource_errors(spec, path)
    if (spec.get("os") or {}).get("name") in _SYSTEMS:
        errors += system_errors(spec, path)
    return errors


def _each_container(spec: JSONObject, path: str) -> list[tuple[str, JSONObject]]:
    found = (
        (f"{path}.{field}[{index}]", container)
        for field in _CONTAINERS
        for index, container in enumerate(spec.get(field) or ())
    )
    return list(found)


def _containers(path: str, spec: JSONObject, volumes: Mapping[str, JSONObject]) -> Errors:
    errors: Errors = [] if spec.get("containers") else [required(f"{path}.containers")]
    claims = PodClaims(sorted({claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")}))
    seen: set[str] = set()
    ports: set[str] = set()
    for index, container in enumerate(spec.get("containers") or ()):
        place = f"{path}.containers[{index}]"
        errors += common_errors(place, container, spec, volumes) + _named_before(place, container, seen)
        errors += running_errors(place, container, spec) + restarting(place, container)
        errors += _host_ports(f"{place}.ports", container, ports)
    for index, container in enumerate(spec.get("initContainers") or ()):
        place = f"{path}.initContainers[{index}]"
        errors += common_errors(place, container, spec, volumes) + restarting(place, container)
        errors += _named_before(place, container, seen) + init_errors(place, container, spec)
        errors += _host_ports(f"{path}.initContainers[0].ports", container, set())
    errors += ephemeral_errors(spec, f"{path}.ephemeralContainers", volumes)
    for place, container in _each_container(spec, path):
        errors += claim_errors(
            f"{place}.resources.claims", (container.get("resources") or {}).get("claims") or [], claims
        )
        errors += _files_of_variables(place, container, volumes)
    return errors


def _named_before(path: str, container: JSONObject, seen: set[str]) -> Errors:
    name = container.get("name") or ""
    errors: Errors = [duplicate(f"{path}.name", name)] if name in seen else []
    if name:
        seen.add(name)
    return errors


def _host_ports(path: str, container: JSONObject, taken: set[str]) -> Errors:
    """A port of the host is given away once."""
    errors: Errors = []
    for index, port in enumerate(container.get("ports") or ()):
        if not port.get("hostPort"):
            continue
        known = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
        if known in taken:
            errors.append(duplicate(f"{path}[{index}].hostPort", known))
        taken.add(known)
    return errors


def _files_of_variables(path: str, container: JSONObject, volumes: Mapping[str, JSONObject]) -> Errors:
    """Variables that are read from a file are in a volume for that."""
    errors: Errors = []
    for index, variable in enumerate(container.get("env") or ()):
        ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
        if ref is None:
            continue
        name, place = ref.get("volumeName") or "", f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName"
        if name not in volumes:
            errors.append(not_found(place, name))
        elif "emptyDir" not in volumes[name]:
            errors.append(invalid(place, name, "referenced volume must be of type emptyDir"))
    return errors


def ephemeral_errors(spec: JSONObject, path: str, volumes: Mapping[str, JSONObject]) -> Errors:
    """What is wrong with containers that are added to look into a pod."""
    errors: Errors = []
    text = "cannot be set for an Ephemeral Container"
    others = {one.get("name") or "" for field in ("containers", "initContainers") for one in spec.get(field) or ()}
    seen = {*others}
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        place = f"{path}[{index}]"
        errors += common_errors(place, container, spec, volumes) + trimmed(place, container)
        errors += _named_before(place, container, seen)
        target = container.get("targetContainerName") or ""
        if target and target not in others:
            errors.append(not_found(f"{place}.targetContainerName", target))
        errors += [forbidden(f"{place}.{field}", text) for field in _NOT_EPHEMERAL if _set(container, field)]
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            fields_ = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
            errors += [forbidden(f"{place}.volumeMounts[{number}].{field}", text) for field in fields_]
    return errors


def _set(container: JSONObject, field: str) -> bool:
    """Whether a field has a value, be it an empty one; resources are always there."""
    return bool(container.get(field)) if field == "resources" else container.get(field) is not None


def trimmed(path: str, container: JSONObject) -> Errors:
    """The image of a container that is to run has no space around it."""
    image = container.get("image") or ""
    text = "must not have leading or trailing whitespace"
    return [] if image == image.strip() else [invalid(f"{path}.image", image, text)]


def _dns(path: str, spec: JSONObject) -> Errors:
    config, none = spec.get("dnsConfig"), spec.get("dnsPolicy") == "None"
    path = f"{path}.dnsConfig"
    if none and config is None:
        return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
    servers, searches = (config or {}).get("nameservers") or [], (config or {}).get("searches") or []
    if none and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{path}.nameservers", text)]
    errors: Errors = []
    if len(servers) > _MOST_SERVERS:
        text = f"must not have more than {_MOST_SERVERS} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    errors += each(ip_address)(f"{path}.nameservers", servers)
    if len(searches) > _MOST_SEARCHES:
        text = f"must not have more than {_MOST_SEARCHES} search paths"
        errors.append(invalid(f"{path}.searches", searches, text))
    if len(" ".join(searches)) > _LONGEST_SEARCHES:
        text = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for index, search in enumerate(searches):
        if search != "." and not _SEARCH.fullmatch(search.removesuffix(".")):
            errors.append(invalid(f"{path}.searches[{index}]", search.removesuffix("."), _SEARCH_RULE))
    return errors + [
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate((config or {}).get("options") or ())
        if not option.get("name")
    ]


def _operating_system(path: str, system: JSONObject) -> Errors:
    name = system.get("name") or ""
    return choice(*_SYSTEMS)(path, name) if name else [required(f"{path}.name")]


def _scheduling_gates(path: str, gates: list[JSONObject]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name, place = gate.get("name") or "", f"{path}[{index}]"
        errors += qualified_name(place, name)
        if name in seen:
            errors.append(duplicate(place, name))
        seen.add(name)
    return errors


def _host(path: str, spec: JSONObject) -> Errors:
    """Namespaces of the host, and what they rule out."""
    errors: Errors = []
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers") or ()):
            for number, port in enumerate(container.get("ports") or ()):
                if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                    place = f"{path}.containers[{index}].ports[{number}].hostPort"
                    text = "must match `containerPort` when `hostNetwork` is true"
                    errors.append(invalid(place, port["hostPort"], text))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.securityContext.shareProcessNamespace", True, text))
    if spec.get("hostUsers") is False:
        names = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
        wrong = [f"{path}.{name}" for field, name in names.items() if spec.get(field)]
        wrong += [f"{place}.volumeDevices" for place, one in _each_container(spec, path) if one.get("volumeDevices")]
        errors += [forbidden(place, "when `hostUsers` is false") for place in wrong]
    return errors


def _host_processes(path: str, spec: JSONObject) -> Errors:
    """Containers that are processes of a Windows host: all or none."""
    whole = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    errors: Errors = []
    containers = _each_container(spec, path)
    count = 0
    for place, container in containers:
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if whole is not None and own is not None and own != whole:
            text = f"pod hostProcess value must be identical if both are specified, was {str(whole).lower()}"
            errors.append(invalid(f"{place}.securityContext.windowsOptions.hostProcess", own, text))
        count += bool(whole if own is None else own)
    if count and count != len(containers):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if count and not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, text))
    return errors


def _host_name(path: str, spec: JSONObject) -> Errors:
    name, place = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return []
    errors: Errors = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(place, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(place, "may not be specified when hostNetwork is true"))
    if len(name) > _LONGEST_HOST:
        errors.append(too_long(place, _LONGEST_HOST))
    return errors + dns_subdomain(place, name)


def _one_claim(path: str, claim: JSONObject) -> Errors:
    given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
    if len(given) == 1:
        return []
    shown = {
        "Name": claim.get("name") or "",
        "ResourceClaimName": claim.get("resourceClaimName"),
        "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
    }
    text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    if given:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    return [invalid(path, shown, text)]


_CLAIM = fields(
    ("name", needed(dns_label)), _one_claim, ("resourceClaimName resourceClaimTemplateName", optional(dns_subdomain))
)
_POD = fields(
    _host,
    ("restartPolicy", needed(choice("Always", "OnFailure", "Never"))),
    ("dnsPolicy", needed(choice("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"))),
    ("nodeSelector", label_map),
    ("serviceAccountName nodeName priorityClassName", filled(dns_subdomain)),
    ("runtimeClassName", optional(dns_subdomain)),
    ("hostname subdomain", filled(dns_label)),
    ("terminationGracePeriodSeconds", non_negative),
    ("activeDeadlineSeconds", within(1, _MAX_INT32, f"must be between 1 and {_MAX_INT32}, inclusive")),
    ("tolerations", each(toleration_errors)),
    ("affinity", filled(AFFINITY)),
    ("topologySpreadConstraints", filled(spread)),
    _dns,
    _host_processes,
    _host_name,
    ("securityContext", filled(POD_SECURITY)),
    ("hostAliases", each(fields(("ip", ip_address), ("hostnames", each(dns_subdomain))))),
    ("os", optional(_operating_system)),
    ("readinessGates", each(fields(("conditionType", qualified_name)))),
    ("schedulingGates", filled(_scheduling_gates)),
    ("preemptionPolicy", optional(needed(choice("PreemptLowerPriority", "Never")))),
    ("overhead", filled(lambda path, value: resource_errors(path, {"limits": value}))),
    ("resourceClaims", each(_CLAIM, "name")),
)
