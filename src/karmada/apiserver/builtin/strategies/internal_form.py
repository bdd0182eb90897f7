"""Pod specs and claims as validation messages quote them: in the reference server's own form, with every field.

Clients print these messages, and people search for them. Parts that are rarely quoted are named by rule only.
"""

import difflib
import json
from itertools import takewhile
from typing import Any

JSONObject = dict[str, Any]
Fields = tuple[tuple[str, Any], ...]
"""Names in their order there, with the value that stands for an absent one."""

_LINES = 2000
"""How many lines of both forms together are compared."""
_SPECIAL_WORDS = {"uid": "UID", "ip": "IP", "hostIP": "HostIP", "tty": "TTY", "os": "OS", "dnsConfig": "DNSConfig"}
_CONTAINER: Fields = (
    *(("Name", ""), ("Image", ""), ("Command", None), ("Args", None), ("WorkingDir", ""), ("Ports", None)),
    *(("EnvFrom", None), ("Env", None), ("Resources", None), ("ResizePolicy", None), ("RestartPolicy", None)),
    *(("RestartPolicyRules", None), ("VolumeMounts", None), ("VolumeDevices", None), ("LivenessProbe", None)),
    *(("ReadinessProbe", None), ("StartupProbe", None), ("Lifecycle", None), ("TerminationMessagePath", "")),
    *(("TerminationMessagePolicy", ""), ("ImagePullPolicy", ""), ("SecurityContext", None), ("Stdin", False)),
    *(("StdinOnce", False), ("TTY", False)),
)
_RESOURCES: Fields = (("Limits", None), ("Requests", None), ("Claims", None))
_SECURITY: Fields = (
    *(("HostNetwork", False), ("HostPID", False), ("HostIPC", False), ("ShareProcessNamespace", None)),
    *(("HostUsers", None), ("SELinuxOptions", None), ("WindowsOptions", None), ("RunAsUser", None)),
    *(("RunAsGroup", None), ("RunAsNonRoot", None), ("SupplementalGroups", None), ("SupplementalGroupsPolicy", None)),
    *(("FSGroup", None), ("FSGroupChangePolicy", None), ("Sysctls", None), ("SeccompProfile", None)),
    *(("AppArmorProfile", None), ("SELinuxChangePolicy", None)),
)
_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_POD: Fields = (
    *(("Volumes", None), ("InitContainers", None), ("Containers", None), ("EphemeralContainers", None)),
    *(("RestartPolicy", ""), ("TerminationGracePeriodSeconds", None), ("ActiveDeadlineSeconds", None)),
    *(("DNSPolicy", ""), ("NodeSelector", None), ("ServiceAccountName", ""), ("AutomountServiceAccountToken", None)),
    *(("NodeName", ""), ("SecurityContext", None), ("ImagePullSecrets", None), ("Hostname", ""), ("Subdomain", "")),
    *(("SetHostnameAsFQDN", None), ("Affinity", None), ("SchedulerName", ""), ("Tolerations", None)),
    *(("HostAliases", None), ("PriorityClassName", ""), ("Priority", None), ("PreemptionPolicy", None)),
    *(("DNSConfig", None), ("ReadinessGates", None), ("RuntimeClassName", None), ("Overhead", None)),
    *(("EnableServiceLinks", None), ("TopologySpreadConstraints", None), ("OS", None), ("SchedulingGates", None)),
    *(("ResourceClaims", None), ("Resources", None), ("HostnameOverride", None), ("SchedulingGroup", None)),
)
_CLAIM: Fields = (
    *(("AccessModes", None), ("Selector", None), ("Resources", None), ("VolumeName", ""), ("StorageClassName", None)),
    *(("VolumeMode", None), ("DataSource", None), ("DataSourceRef", None), ("VolumeAttributesClassName", None)),
)
_DEVICES: Fields = (("Requests", None), ("Constraints", None), ("Config", None))
_DEVICES_WANTED: Fields = (
    *(("DeviceClassName", ""), ("Selectors", None), ("AllocationMode", ""), ("Count", 0), ("AdminAccess", None)),
    *(("Tolerations", None), ("Capacity", None)),
)
_DEVICE_CONSTRAINT: Fields = (("Requests", None), ("MatchAttribute", None), ("DistinctAttribute", None))
_DEVICE_CONFIG: Fields = (("Requests", None), ("Opaque", None))
_OPAQUE: Fields = (("Driver", ""), ("Parameters", None))
_TOLERATION: Fields = (("Key", ""), ("Operator", ""), ("Value", ""), ("Effect", ""), ("TolerationSeconds", None))


def _name(key: str) -> str:
    if key in _SPECIAL_WORDS:
        return _SPECIAL_WORDS[key]
    for small, large in (("dns", "DNS"), ("fs", "FS"), ("seLinux", "SELinux")):
        if key.startswith(small) and key[len(small) : len(small) + 1].isupper():
            return large + key[len(small) :]
    return key[:1].upper() + key[1:]


def _filled(obj: JSONObject, fields: Fields) -> JSONObject:
    given = {_name(key): value for key, value in obj.items()}
    return {name: given.get(name, absent) for name, absent in fields}


def _by_rule(value: Any) -> Any:
    if isinstance(value, dict):
        return {_name(key): _by_rule(item) for key, item in value.items()}
    return [_by_rule(item) for item in value] if isinstance(value, list) else value


def _container(container: JSONObject) -> JSONObject:
    result = _filled(container, _CONTAINER)
    resources = _filled(container.get("resources") or {}, _RESOURCES)
    return {**{name: _by_rule(value) for name, value in result.items()}, "Resources": resources}


def toleration(given: JSONObject) -> JSONObject:
    """A toleration."""
    return _filled(given, _TOLERATION)


def pod_spec(spec: JSONObject) -> JSONObject:
    """A pod's spec."""
    result = _filled(spec, _POD)
    for name in ("InitContainers", "Containers", "EphemeralContainers"):
        result[name] = [_container(container) for container in result[name]] if result[name] else None
    for name in ("Volumes", "Affinity", "HostAliases", "DNSConfig", "ReadinessGates", "TopologySpreadConstraints"):
        result[name] = _by_rule(result[name])
    if result["Tolerations"]:
        result["Tolerations"] = [toleration(item) for item in result["Tolerations"]]
    context = spec.get("securityContext")
    if context is not None:
        host: JSONObject = {key: spec[key] for key in _HOST if key in spec}
        result["SecurityContext"] = _filled({**context, **host}, _SECURITY)
    return result


def pod_template(template: JSONObject) -> JSONObject:
    """A pod template: metadata has the names of the API there too."""
    return {**(template.get("metadata") or {}), "Spec": pod_spec(template["spec"])}


def claim_spec(spec: JSONObject) -> JSONObject:
    """The spec of a PersistentVolumeClaim."""
    result = _filled(spec, _CLAIM)
    result["Resources"] = _filled(spec.get("resources") or {}, _RESOURCES[:2])
    result["VolumeName"] = result["VolumeName"] or ""
    reference = (("APIGroup", None), ("Kind", ""), ("Name", ""))
    if result["DataSource"] is not None:
        result["DataSource"] = _filled(result["DataSource"], reference)
    if result["DataSourceRef"] is not None:
        result["DataSourceRef"] = _filled(result["DataSourceRef"], (*reference, ("Namespace", None)))
    return result


def volume_affinity(affinity: JSONObject | None) -> JSONObject | None:
    """The node affinity of a PersistentVolume."""
    wanted = (affinity or {}).get("required")
    terms = [
        {
            "MatchExpressions": _requirements(term.get("matchExpressions")),
            "MatchFields": _requirements(term.get("matchFields")),
        }
        for term in (wanted or {}).get("nodeSelectorTerms") or ()
    ]
    return affinity and {"Required": wanted and {"NodeSelectorTerms": terms}}


def _requirements(given: list[JSONObject] | None) -> list[JSONObject] | None:
    return [_filled(one, (("Key", ""), ("Operator", ""), ("Values", None))) for one in given or ()] or None


def device_claim(spec: JSONObject) -> JSONObject:
    """The spec of a ResourceClaim."""
    devices = _filled(spec.get("devices") or {}, _DEVICES)
    devices["Requests"] = [_device_request(request) for request in devices["Requests"] or ()] or None
    devices["Constraints"] = [_filled(one, _DEVICE_CONSTRAINT) for one in devices["Constraints"] or ()] or None
    configs = [_filled(one, _DEVICE_CONFIG) for one in devices["Config"] or ()]
    devices["Config"] = [{**one, "Opaque": _filled(one["Opaque"] or {}, _OPAQUE)} for one in configs] or None
    return {"Devices": devices}


def _device_request(request: JSONObject) -> JSONObject:
    result = _filled(request, (("Name", ""), ("Exactly", None), ("FirstAvailable", None)))
    if result["Exactly"] is not None:
        result["Exactly"] = _devices_wanted(result["Exactly"], _DEVICES_WANTED)
    choices = result["FirstAvailable"] or ()
    fields = (("Name", ""), *(field for field in _DEVICES_WANTED if field[0] != "AdminAccess"))
    return {**result, "FirstAvailable": [_devices_wanted(choice, fields) for choice in choices] or None}


def _devices_wanted(wanted: JSONObject, fields: Fields) -> JSONObject:
    result = _filled(wanted, fields)
    expressions = [one.get("cel") for one in result["Selectors"] or ()]
    selectors = [{"CEL": cel and {"Expression": cel.get("expression") or ""}} for cel in expressions]
    tolerations = [toleration(one) for one in result["Tolerations"] or ()]
    capacity = result["Capacity"] and {"Requests": result["Capacity"].get("requests")}
    return {**result, "Selectors": selectors or None, "Tolerations": tolerations or None, "Capacity": capacity}


def difference(old: JSONObject, new: JSONObject) -> str:
    """What changed between two quoted forms, with three lines around it; of a very large change only the beginning."""
    before, after = (json.dumps(form, indent=1).splitlines() for form in (old, new))
    if len(before) + len(after) > _LINES:
        # Matching lines takes time that grows with the square of their number: compare from the first difference on.
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
        begin = max(0, same - 3)
        before, after = (lines[begin : begin + _LINES // 2] for lines in (before, after))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in lines)
