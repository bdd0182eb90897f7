"""Rules of security contexts of pods and containers."""

import re
from typing import Any

from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_subdomain
from karmada.apiserver.builtin.strategies.paths import descending
from karmada.apiserver.builtin.strategies.tables import choice, each, fields, filled, optional, too_long, within

_MAX_INT32 = 2**31 - 1
_ID = within(0, _MAX_INT32, f"must be between 0 and {_MAX_INT32}, inclusive")
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}")
_SYSCTL_RULE = f"must have at most 253 characters and match regex ^({_SYSCTL_PART}[\\./])*{_SYSCTL_PART}$"
_LONGEST_PROFILE, _LONGEST_CREDENTIAL = 4095, 64 * 1024
_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_DOMAIN = re.compile(
    r"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{0,14}|[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*\.?"
)


def _seccomp(path: str, profile: JSONObject) -> Errors:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    errors: Errors = [required(f"{path}.type", "type is required when seccompProfile is set")] if not kind else []
    if kind:
        errors = choice("Localhost", "RuntimeDefault", "Unconfined")(f"{path}.type", kind)
    place = f"{path}.localhostProfile"
    if kind == "Localhost":
        text = "must be set when seccomp type is Localhost"
        return errors + ([required(place, text)] if local is None else descending(place, local))
    if local is not None:
        errors.append(invalid(place, profile, "can only be set when seccomp type is Localhost"))
    return errors


def _app_armor(path: str, profile: JSONObject) -> Errors:
    kind, local, place = profile.get("type") or "", profile.get("localhostProfile"), f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind in ("RuntimeDefault", "Unconfined"):
        text = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid(place, local, text)]
    if kind != "Localhost":
        return choice("Localhost", "RuntimeDefault", "Unconfined")(f"{path}.type", kind)
    errors: Errors = []
    if local is not None and local.strip() != local:
        errors.append(invalid(place, local, "must not be padded with whitespace"))
    elif not local:
        errors.append(required(place, "must be set when AppArmor type is Localhost"))
    return [*errors, too_long(place, _LONGEST_PROFILE)] if len(local or "") > _LONGEST_PROFILE else errors


def _credential(path: str, spec: str) -> Errors:
    if not spec:
        return [invalid(path, spec, "gmsaCredentialSpec cannot be an empty string")]
    return (
        [invalid(path, spec, "gmsaCredentialSpec size must be under 64 KiB")] if len(spec) > _LONGEST_CREDENTIAL else []
    )


def _windows_user(path: str, name: str) -> Errors:
    if not name:
        return [invalid(path, name, "runAsUserName cannot be an empty string")]
    if re.search(r"[\x00-\x1f\x7f]", name):
        return [invalid(path, name, "runAsUserName cannot contain control characters")]
    if name.count("\\") > 1:
        return [invalid(path, name, "runAsUserName cannot contain more than one backslash")]
    domain, slash, user = name.rpartition("\\")
    problems = []
    if len(domain) >= _LONGEST_DOMAIN:
        problems.append(f"runAsUserName's Domain length must be under {_LONGEST_DOMAIN} characters")
    if slash and not _DOMAIN.fullmatch(domain):
        problems.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("runAsUserName's User cannot be empty")
    elif len(user) > _LONGEST_USER:
        problems.append(f"runAsUserName's User length must not be longer than {_LONGEST_USER} characters")
    if re.fullmatch("[. ]+", user):
        problems.append("runAsUserName's User cannot contain only periods or spaces")
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        problems.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return [invalid(path, name, problem) for problem in problems]


_WINDOWS = fields(
    ("gmsaCredentialSpecName", optional(dns_subdomain)),
    ("gmsaCredentialSpec", optional(_credential)),
    ("runAsUserName", optional(_windows_user)),
)


def _sysctls(path: str, sysctls: list[JSONObject]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, place = sysctl.get("name") or "", f"{path}[{index}].name"
        if not name:
            errors.append(required(place))
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            errors.append(invalid(place, name, _SYSCTL_RULE))
        elif name in seen:
            errors.append(duplicate(place, name))
        seen.add(name)
    return errors


_PROFILES = (
    ("seccompProfile", optional(_seccomp)),
    ("windowsOptions", optional(_WINDOWS)),
    ("appArmorProfile", optional(_app_armor)),
)
POD_SECURITY = fields(
    ("fsGroup runAsUser runAsGroup", _ID),
    ("supplementalGroups", each(_ID)),
    ("sysctls", filled(_sysctls)),
    ("fsGroupChangePolicy", optional(choice("Always", "OnRootMismatch"))),
    *_PROFILES,
    ("supplementalGroupsPolicy", optional(choice("Merge", "Strict"))),
    ("seLinuxChangePolicy", optional(choice("Recursive"))),
)
"""The security context of a pod."""
_CONTAINER = fields(("runAsUser runAsGroup", _ID), ("procMount", optional(choice("Default", "Unmasked"))), *_PROFILES)


def container_security(path: str, context: JSONObject, host_users: bool) -> Errors:
    """The security context of a container."""
    errors = _CONTAINER(path, context)
    if host_users and context.get("procMount") == "Unmasked":
        text = "`hostUsers` must be false to use `Unmasked`"
        errors.append(invalid(f"{path}.procMount", "Unmasked", text))
    if context.get("allowPrivilegeEscalation") is False:
        head = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            errors.append(invalid(path, context, f"{head} `privileged` to true"))
        for name in (context.get("capabilities") or {}).get("add") or ():
            if name == "CAP_SYS_ADMIN":
                errors.append(invalid(path, context, f"{head} `capabilities.Add` CAP_SYS_ADMIN"))
    return errors


_IPC = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def host_sysctls(spec: JSONObject, path: str) -> Errors:
    """A pod that shares a namespace with its host does not tune it."""
    errors: Errors = []
    for index, sysctl in enumerate((spec.get("securityContext") or {}).get("sysctls") or ()):
        name, place = sysctl.get("name") or "", f"{path}.securityContext.sysctls[{index}].name"
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            errors.append(invalid(place, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and dotted.startswith(_IPC):
            errors.append(invalid(place, name, "may not be specified when 'hostIPC' is true"))
    return errors


_LINUX_ONLY = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_LINUX_ONLY_CONTAINER = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != []


def system_errors(spec: JSONObject, path: str) -> Errors:
    """What a pod for one operating system may not ask for."""
    windows = (spec.get("os") or {}).get("name") == "windows"
    text = "cannot be set for a windows pod" if windows else "windows options cannot be set for a linux pod"
    context = spec.get("securityContext") or {}
    wrong = [f"securityContext.{name}" for name in _LINUX_ONLY if _is_set(context.get(name))] if windows else []
    if windows:
        wrong += [name for name in ("hostPID", "hostIPC") if spec.get(name)]
        wrong += [name for name in ("hostUsers", "shareProcessNamespace") if spec.get(name) is not None]
    elif context.get("windowsOptions") is not None:
        wrong.append("securityContext.windowsOptions")
    names = _LINUX_ONLY_CONTAINER if windows else ("windowsOptions",)
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            inner = container.get("securityContext") or {}
            wrong += [f"{field}[{index}].securityContext.{name}" for name in names if inner.get(name) is not None]
    return [forbidden(f"{path}.{name}", text) for name in wrong]
