"""Validation of containers: what they run, with which ports, variables, mounts and probes."""

import re
from collections.abc import Mapping

from karmada.api.field_errors import duplicate, forbidden, invalid, not_found, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    config_key_problems,
    dns_label,
    dns_subdomain,
    non_negative,
    port_name,
    port_number,
    port_or_name,
    positive,
)
from karmada.apiserver.builtin.strategies.compute_resources import resource_errors
from karmada.apiserver.builtin.strategies.devices import too_many
from karmada.apiserver.builtin.strategies.field_refs import in_variable, resource_in_variable
from karmada.apiserver.builtin.strategies.paths import descending, no_backsteps
from karmada.apiserver.builtin.strategies.security_contexts import container_security
from karmada.apiserver.builtin.strategies.tables import (
    Check,
    choice,
    each,
    fields,
    filled,
    given,
    having,
    needed,
    optional,
)

_ENV_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ONE_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ONE_FIELD = "may not have more than one field specified at a time"
_MOST_RULES = 20
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def _ports(path: str, ports: list[JSONObject] | None) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, port in enumerate(ports or ()):
        place = f"{path}[{index}]"
        if name := port.get("name"):
            found = port_name(f"{place}.name", name)
            errors += found
            if not found and name in seen:
                errors.append(duplicate(f"{place}.name", name))
            seen.add(name)
        errors += _PORT(place, port)
    return errors


_PORT = fields(
    ("containerPort", needed(port_number)),
    ("hostPort", filled(port_number)),
    ("protocol", choice("SCTP", "TCP", "UDP")),
)


def _env_name(path: str, name: str) -> Errors:
    fine = name.isascii() and name.isprintable() and "=" not in name
    return [] if fine else [invalid(path, name, _ENV_RULE)]


def _env_source(path: str, variable: JSONObject) -> Errors:
    source = variable.get("valueFrom")
    if source is None:
        return []
    if not source:
        return [invalid(f"{path}.valueFrom", "", _ONE_SOURCE)]
    if variable.get("value"):
        return [invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")]
    return [invalid(f"{path}.valueFrom", "", _ONE_FIELD)] if len(source) > 1 else []


def _env_from_source(path: str, source: JSONObject) -> Errors:
    """Complaints are about the list, as in the reference."""
    listed = path.rpartition("[")[0]
    if "configMapRef" not in source and "secretRef" not in source:
        return [invalid(listed, "", "must specify one of: `configMapRef` or `secretRef`")]
    return [invalid(listed, "", _ONE_FIELD)] if "configMapRef" in source and "secretRef" in source else []


def _key(path: str, key: str) -> Errors:
    return [invalid(path, key, problem) for problem in config_key_problems(key)]


_KEY = fields(("name", dns_subdomain), ("key", needed(_key)))
_FILE_KEY = fields(("key", needed(_env_name)), ("volumeName", needed(dns_label)), ("path", needed(no_backsteps)))
_ENV = fields(
    ("name", needed(_env_name)),
    (
        "valueFrom",
        filled(
            fields(
                ("fieldRef", optional(in_variable)),
                ("resourceFieldRef", optional(resource_in_variable)),
                ("configMapKeyRef secretKeyRef", optional(_KEY)),
                ("fileKeyRef", optional(_FILE_KEY)),
            )
        ),
    ),
    _env_source,
)
_ENV_FROM = fields(
    ("prefix", filled(_env_name)),
    ("configMapRef secretRef", having("name", needed(dns_subdomain))),
    _env_from_source,
)


def _mounts(path: str, container: JSONObject, volumes: Mapping[str, JSONObject]) -> Errors:
    errors: Errors = []
    paths: set[str] = set()
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or ()}
    device_paths = {*devices.values()}
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        place = f"{path}[{index}]"
        name, where = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(required(f"{place}.name"))
        if name not in volumes:
            errors.append(not_found(f"{place}.name", name))
        if not where:
            errors.append(required(f"{place}.mountPath"))
        if where in paths:
            errors.append(invalid(f"{place}.mountPath", where, "must be unique"))
        paths.add(where)
        if name in devices:
            errors.append(invalid(f"{place}.name", name, "must not already exist in volumeDevices"))
        if where in device_paths:
            errors.append(invalid(f"{place}.mountPath", where, "must not already exist as a path in volumeDevices"))
        errors += _sub_paths(path, place, mount) + _MOUNT(path, mount) + _read_only(f"{path}.recursiveReadOnly", mount)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
    return errors


def _sub_paths(path: str, place: str, mount: JSONObject) -> Errors:
    """Complaints about a path are about the list, as in the reference."""
    inner, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    errors = descending(f"{path}.subPath", inner) if inner else []
    if inner and expression:
        text = "subPathExpr and subPath are mutually exclusive"
        errors.append(invalid(f"{place}.subPathExpr", expression, text))
    return errors + (descending(f"{path}.subPathExpr", expression) if expression else [])


def _read_only(path: str, mount: JSONObject) -> Errors:
    wanted = mount.get("recursiveReadOnly")
    if wanted is None or wanted == "Disabled":
        return []
    if wanted not in ("Enabled", "IfPossible"):
        return choice("Disabled", "Enabled", "IfPossible")(path, wanted)
    errors: Errors = []
    if not mount.get("readOnly"):
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


_MOUNT = fields(("mountPropagation", optional(choice("Bidirectional", "HostToContainer", "None"))))


def _devices(path: str, container: JSONObject, volumes: Mapping[str, JSONObject]) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    paths: set[str] = set()
    mounts = {mount.get("name"): mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
    mount_paths = {*mounts.values()}
    for index, device in enumerate(container.get("volumeDevices") or ()):
        place = f"{path}[{index}]"
        name, where = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            errors.append(required(f"{place}.name"))
        if name in names:
            errors.append(invalid(f"{place}.name", name, "must be unique"))
        if name not in volumes:
            errors.append(not_found(f"{place}.name", name))
        elif not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{place}.name", name, text))
        if not where:
            errors.append(required(f"{place}.devicePath"))
        if where in paths:
            errors.append(invalid(f"{place}.devicePath", where, "must be unique"))
        if where and no_backsteps("", where):
            errors.append(invalid(f"{place}.devicePath", where, "can not contain backsteps ('..')"))
        else:
            paths.add(where)
        if name in mounts:
            errors.append(invalid(f"{place}.name", name, "must not already exist in volumeMounts"))
        if where in mount_paths:
            errors.append(invalid(f"{place}.devicePath", where, "must not already exist as a path in volumeMounts"))
        names |= {name} if name else set()
    return errors


def _handler(grace: int | None) -> Check:
    """What is run: the first of several kinds is looked at, others are too many."""

    def check(path: str, handler: JSONObject) -> Errors:
        found = [word for word in _HANDLERS if handler.get(word) is not None]
        if not found:
            return [required(path, "must specify a handler type")]
        errors = _ACTIONS[found[0]](f"{path}.{found[0]}", handler[found[0]])
        if found[0] == "sleep" and grace is not None and not 0 <= (handler["sleep"].get("seconds") or 0) <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            errors.append(invalid(f"{path}.sleep", handler["sleep"].get("seconds") or 0, text))
        return errors + [forbidden(f"{path}.{word}", "may not specify more than 1 handler type") for word in found[1:]]

    return check


_HEADER = re.compile("[-A-Za-z0-9]+")
_HEADER_RULE = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)


def _headers(path: str, headers: list[JSONObject]) -> Errors:
    names = [header.get("name") or "" for header in headers]
    return [invalid(path, name, _HEADER_RULE) for name in names if not _HEADER.fullmatch(name)]


_ACTIONS: dict[str, Check] = {
    "exec": fields(("command", needed())),
    "httpGet": fields(
        ("path", needed()),
        ("port", port_or_name),
        ("scheme", choice("HTTP", "HTTPS")),
        ("httpHeaders", filled(_headers)),
    ),
    "tcpSocket": fields(("port", port_or_name)),
    "grpc": fields(("port", port_number)),
    "sleep": lambda path, value: [],
}
_COUNTS = fields(
    ("initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold", non_negative),
    ("terminationGracePeriodSeconds", positive),
)


def _running(path: str, container: JSONObject, grace: int | None) -> Errors:
    """Hooks and probes of a container that keeps running."""
    handler = _handler(grace)
    errors: Errors = []
    for word, hook in (container.get("lifecycle") or {}).items():
        if isinstance(hook, dict):
            errors += handler(f"{path}.lifecycle.{word}", hook)
    for word in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(word)
        if probe is None:
            continue
        place = f"{path}.{word}"
        errors += handler(place, probe) + _COUNTS(place, probe)
        if word != "readinessProbe" and probe.get("successThreshold") != 1:
            errors.append(invalid(f"{place}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))
        seconds = probe.get("terminationGracePeriodSeconds")
        if word == "readinessProbe" and seconds is not None:
            text = "must not be set for readinessProbes"
            errors.append(invalid(f"{place}.terminationGracePeriodSeconds", seconds, text))
    return errors


def _resizing(path: str, policies: list[JSONObject], never: bool) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, action = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        errors += needed(choice("cpu", "memory"))(path, name)
        errors += needed(choice("NotRequired", "RestartContainer"))(path, action)
        if never and action != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, action, text))
    return errors


_RESTART_RULE = fields(
    ("action", choice("Restart", "RestartAllContainers")),
    ("exitCodes", given(fields(("operator", choice("In", "NotIn"))), "must be specified")),
)


def restarting(path: str, container: JSONObject) -> Errors:
    """A restart policy of a container's own, and its rules."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    errors: Errors = []
    if policy is None and rules:
        text = "must specify restartPolicy when restart rules are used"
        errors.append(required(f"{path}.restartPolicy", text))
    elif policy is not None:
        errors += choice("Always", "Never", "OnFailure")(f"{path}.restartPolicy", policy)
    if len(rules) > _MOST_RULES:
        errors.append(too_many(f"{path}.restartPolicyRules", rules, _MOST_RULES)[0])
    return errors + each(_RESTART_RULE)(f"{path}.restartPolicyRules", rules)


_INPUTS = (("ports", _ports), ("env", each(_ENV)), ("envFrom", each(_ENV_FROM)))
_CONTAINER = fields(
    ("name", needed(dns_label)),
    ("image", needed()),
    ("terminationMessagePolicy", needed(choice("File", "FallbackToLogsOnError"))),
    *_INPUTS,
)


def common_errors(path: str, container: JSONObject, pod: JSONObject, volumes: Mapping[str, JSONObject]) -> Errors:
    """What is wrong with a container of any sort, in a pod with this spec and these volumes."""
    errors = _CONTAINER(path, container)
    errors += _mounts(f"{path}.volumeMounts", container, volumes)
    errors += _devices(f"{path}.volumeDevices", container, volumes)
    errors += needed(choice("Always", "IfNotPresent", "Never"))(
        f"{path}.imagePullPolicy", container.get("imagePullPolicy")
    )
    if container.get("resources"):
        errors += resource_errors(f"{path}.resources", container["resources"])
    if container.get("resizePolicy"):
        errors += _resizing(f"{path}.resizePolicy", container["resizePolicy"], pod.get("restartPolicy") == "Never")
    if container.get("securityContext"):
        users = pod.get("hostUsers") is not False
        errors += container_security(f"{path}.securityContext", container["securityContext"], users)
    return errors


def running_errors(path: str, container: JSONObject, pod: JSONObject) -> Errors:
    """What is wrong with the hooks and probes of a container."""
    return _running(path, container, pod.get("terminationGracePeriodSeconds"))


_KEEP_RUNNING = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def init_errors(path: str, container: JSONObject, pod: JSONObject) -> Errors:
    """What only init containers may not have, unless they keep running beside the others."""
    if container.get("restartPolicy") == "Always":
        return _running(path, container, pod.get("terminationGracePeriodSeconds"))
    text = "may not be set for init containers without restartPolicy=Always"
    errors: Errors = [forbidden(f"{path}.{word}", text) for word in _KEEP_RUNNING if container.get(word) is not None]
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.append(invalid(f"{path}.resizePolicy[{index}].restartPolicy", "RestartContainer", text))
    return errors
