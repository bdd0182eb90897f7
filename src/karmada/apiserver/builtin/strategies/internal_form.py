"""Pod specs and claims as validation messages quote them: in the reference server's own form, with every field.

Clients print these messages, and people search for them. Parts that are rarely quoted are named by rule only.
"""

import difflib
import json
from typing import Any

JSONObject = dict[str, Any]
Fields = tuple[tuple[str, Any], ...]
"""Names in their order there, with the value that stands for an absent one."""

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
    return result


def difference(old: JSONObject, new: JSONObject) -> str:
    """What changed between two quoted forms, with three lines around it."""
    before, after = (json.dumps(form, indent=1).splitlines() for form in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in lines)
