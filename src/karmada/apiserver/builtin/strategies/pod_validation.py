"""Validation of pod specs and pod templates."""

import re
from typing import Any

from karmada.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    ip_address,
    non_negative,
    one_of,
    port_name,
    port_number,
    port_or_name,
    positive,
    qualified_name,
    selector,
    unsupported,
)
from karmada.apiserver.builtin.strategies.compute_resources import resource_errors
from karmada.apiserver.builtin.strategies.tolerations import toleration_errors
from karmada.apiserver.schema.metadata import annotations, labels

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ENV_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def template_errors(template: JSONObject, path: str, old: JSONObject | None = None) -> Errors:
    """What is wrong with a pod template; nothing when it is the old one."""
    if template == old:
        return []
    metadata = template.get("metadata") or {}
    errors = labels(metadata.get("labels"), f"{path}.labels")
    errors += annotations(metadata.get("annotations"), f"{path}.annotations")
    spec = template.get("spec") or {}
    errors += spec_errors(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return errors


def always_restarts(spec: JSONObject, path: str, kind: str) -> Errors:
    """Workloads that keep pods running accept no other restart policy, and no deadline."""
    errors: Errors = []
    if spec.get("restartPolicy") != "Always":
        errors.append(unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        errors.append(forbidden(f"{path}.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"))
    return errors


def spec_errors(spec: JSONObject, path: str) -> Errors:
    """What is wrong with a pod spec."""
    errors, volumes = _volumes(spec.get("volumes") or [], f"{path}.volumes")
    errors += _containers(spec, path, volumes)
    errors += _choice(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    policies = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    errors += _choice(f"{path}.dnsPolicy", spec.get("dnsPolicy"), policies)
    if spec.get("nodeSelector"):
        errors += labels(spec["nodeSelector"], f"{path}.nodeSelector")
    for field in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if spec.get(field):
            errors += dns_subdomain(f"{path}.{field}", spec[field])
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += dns_label(f"{path}.{field}", spec[field])
    errors += non_negative(f"{path}.terminationGracePeriodSeconds", spec.get("terminationGracePeriodSeconds"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        errors += toleration_errors(toleration, f"{path}.tolerations[{index}]")
    errors += _affinity(spec.get("affinity") or {}, f"{path}.affinity")
    errors += _spread(spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        text = 'must provide at least one DNS nameserver when `dnsPolicy` is "None"'
        errors.append(required(f"{path}.dnsConfig.nameservers", text))
    errors += _security(spec.get("securityContext") or {}, f"{path}.securityContext")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        errors += ip_address(f"{path}.hostAliases[{index}].ip", alias.get("ip") or "")
        for host in alias.get("hostnames") or ():
            errors += dns_subdomain(f"{path}.hostAliases[{index}].hostnames", host)
    return errors + pod_extras(spec, path)


def _choice(field: str, value: Any, choices: tuple[str, ...]) -> Errors:
    return [] if value in choices else [unsupported(field, value, choices)]


def _containers(spec: JSONObject, path: str, volumes: set[str]) -> Errors:
    containers = spec.get("containers") or []
    errors: Errors = [] if containers else [required(f"{path}.containers")]
    seen: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            place = f"{path}.{field}[{index}]"
            errors += _container(container, place, volumes)
            name = container.get("name") or ""
            if name in seen:
                errors.append(duplicate(f"{place}.name", name))
            if name:
                seen.add(name)
    return errors + ephemeral_errors(spec.get("ephemeralContainers") or [], f"{path}.ephemeralContainers", seen)


_NOT_EPHEMERAL = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources", "resizePolicy")


def ephemeral_errors(containers: list[JSONObject], path: str, seen: set[str]) -> Errors:
    """What is wrong with containers that are added to look into a pod; `seen` are the names of the others."""
    errors: Errors = []
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        name = container.get("name") or ""
        errors += dns_label(f"{place}.name", name) if name else [required(f"{place}.name")]
        if not container.get("image"):
            errors.append(required(f"{place}.image"))
        errors += _ports(container.get("ports") or [], f"{place}.ports")
        errors += _env(container.get("env") or [], f"{place}.env")
        errors += _env_from(container.get("envFrom") or [], f"{place}.envFrom")
        if name in seen:
            errors.append(duplicate(f"{place}.name", name))
        if name:
            seen.add(name)
        text = "cannot be set for an Ephemeral Container"
        errors += [forbidden(f"{place}.{field}", text) for field in _NOT_EPHEMERAL if container.get(field)]
    return errors


def _container(container: JSONObject, path: str, volumes: set[str]) -> Errors:
    name = container.get("name") or ""
    errors = dns_label(f"{path}.name", name) if name else [required(f"{path}.name")]
    image = container.get("image") or ""
    if not image:
        errors.append(required(f"{path}.image"))
    errors += one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), ("Always", "IfNotPresent", "Never"))
    policy = container.get("terminationMessagePolicy")
    errors += _choice(f"{path}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError"))
    errors += _ports(container.get("ports") or [], f"{path}.ports")
    errors += _env(container.get("env") or [], f"{path}.env")
    errors += _env_from(container.get("envFrom") or [], f"{path}.envFrom")
    errors += _mounts(container.get("volumeMounts") or [], f"{path}.volumeMounts", volumes)
    errors += resource_errors(container.get("resources") or {}, f"{path}.resources")
    for word in ("livenessProbe", "readinessProbe", "startupProbe"):
        if word in container:
            errors += _probe(container[word], f"{path}.{word}", word)
    for word, handler in (container.get("lifecycle") or {}).items():
        if isinstance(handler, dict):
            errors += _handler(handler, f"{path}.lifecycle.{word}")
    return errors


def _ports(ports: list[JSONObject], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name = port.get("name")
        if name:
            found = port_name(f"{place}.name", name)
            errors += found
            if not found and name in seen:
                errors.append(duplicate(f"{place}.name", name))
            seen.add(name)
        number = port.get("containerPort") or 0
        errors += port_number(f"{place}.containerPort", number) if number else [required(f"{place}.containerPort")]
        if port.get("hostPort"):
            errors += port_number(f"{place}.hostPort", port["hostPort"])
        errors += one_of(f"{place}.protocol", port.get("protocol") or "", _PROTOCOLS)
    return errors


def _env(variables: list[JSONObject], path: str) -> Errors:
    errors: Errors = []
    for index, variable in enumerate(variables):
        place = f"{path}[{index}]"
        name = variable.get("name") or ""
        if not name:
            errors.append(required(f"{place}.name"))
        elif not name.isascii() or not name.isprintable() or "=" in name:
            errors.append(invalid(f"{place}.name", name, _ENV_RULE))
        source = variable.get("valueFrom")
        if source is None:
            continue
        if variable.get("value"):
            errors.append(invalid(f"{place}.valueFrom", "", "may not be specified when `value` is not empty"))
        if not source:
            text = (
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            )
            errors.append(invalid(f"{place}.valueFrom", "", text))
        elif len(source) > 1:
            errors.append(invalid(f"{place}.valueFrom", "", "may not have more than one field specified at a time"))
        for word in ("configMapKeyRef", "secretKeyRef"):
            if word in source and not source[word].get("key"):
                errors.append(required(f"{place}.valueFrom.{word}.key"))
        if "fieldRef" in source and not source["fieldRef"].get("fieldPath"):
            errors.append(required(f"{place}.valueFrom.fieldRef.fieldPath"))
    return errors


def _env_from(sources: list[JSONObject], path: str) -> Errors:
    errors: Errors = []
    for index, source in enumerate(sources):
        if "configMapRef" not in source and "secretRef" not in source:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif "configMapRef" in source and "secretRef" in source:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
        prefix = source.get("prefix") or ""
        if not prefix.isascii() or not prefix.isprintable() or "=" in prefix:
            errors.append(invalid(f"{path}[{index}].prefix", prefix, _ENV_RULE))
        for word in ("configMapRef", "secretRef"):
            if word in source and not source[word].get("name"):
                errors.append(required(f"{path}[{index}].{word}.name"))
    return errors


def _mounts(mounts: list[JSONObject], path: str, volumes: set[str]) -> Errors:
    errors: Errors = []
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        place = f"{path}[{index}]"
        name = mount.get("name") or ""
        if not name:
            errors.append(required(f"{place}.name"))
        elif name not in volumes:
            errors.append(FieldError("FieldValueNotFound", f"{place}.name", f'Not found: "{name}"'))
        where = mount.get("mountPath") or ""
        if not where:
            errors.append(required(f"{place}.mountPath"))
        elif where in paths:
            errors.append(invalid(f"{place}.mountPath", where, "must be unique"))
        paths.add(where)
        for field in ("subPath", "subPathExpr"):
            if text := mount.get(field) or "":
                errors += _inner_path(f"{place}.{field}", text)
        if mount.get("subPath") and mount.get("subPathExpr"):
            errors.append(
                invalid(f"{place}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
            )
        if (spread := mount.get("mountPropagation")) is not None:
            errors += one_of(f"{place}.mountPropagation", spread, ("Bidirectional", "HostToContainer", "None"))
    return errors


def _inner_path(field: str, value: str) -> Errors:
    """A path inside of a volume."""
    errors: Errors = []
    if value.startswith("/"):
        errors.append(invalid(field, value, "must be a relative path"))
    if ".." in value.split("/"):
        errors.append(invalid(field, value, "must not contain '..'"))
    return errors


def _probe(probe: JSONObject, path: str, word: str) -> Errors:
    errors = _handler(probe, path)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        errors += non_negative(f"{path}.{field}", probe.get(field))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    if grace is not None and word == "readinessProbe":
        text = "must not be set for readinessProbes"
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, text))
    if word != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        errors.append(invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1"))
    return errors


_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def _handler(handler: JSONObject, path: str) -> Errors:
    found = [word for word in _HANDLERS if word in handler]
    if not found:
        return [required(path, "must specify a handler type")]
    errors: Errors = [forbidden(f"{path}.{w}", "may not specify more than 1 handler type") for w in found[1:]]
    if "exec" in handler and not handler["exec"].get("command"):
        errors.append(required(f"{path}.exec.command"))
    if "httpGet" in handler:
        errors += port_or_name(f"{path}.httpGet.port", handler["httpGet"].get("port", 0))
        errors += one_of(f"{path}.httpGet.scheme", handler["httpGet"].get("scheme"), ("HTTP", "HTTPS"))
    if "tcpSocket" in handler:
        errors += port_or_name(f"{path}.tcpSocket.port", handler["tcpSocket"].get("port", 0))
    if "grpc" in handler:
        errors += port_number(f"{path}.grpc.port", handler["grpc"].get("port", 0))
    return errors


def _volumes(volumes: list[JSONObject], path: str) -> tuple[Errors, set[str]]:
    errors: Errors = []
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        name = volume.get("name") or ""
        found = dns_label(f"{place}.name", name) if name else [required(f"{place}.name")]
        if not found and name in names:
            found = [duplicate(f"{place}.name", name)]
        errors += found
        names.add(name)
        sources = [word for word in volume if word != "name"]
        errors += [forbidden(f"{place}.{w}", "may not specify more than 1 volume type") for w in sources[1:]]
        errors += _volume_source(volume, place)
    return errors, names


def _volume_source(volume: JSONObject, path: str) -> Errors:
    errors: Errors = []
    needed = {
        "hostPath": "path",
        "secret": "secretName",
        "persistentVolumeClaim": "claimName",
        "configMap": "name",
        "csi": "driver",
    }
    for kind, field in needed.items():
        if kind in volume and not volume[kind].get(field):
            errors.append(required(f"{path}.{kind}.{field}"))
    if "hostPath" in volume and ".." in (volume["hostPath"].get("path") or "").split("/"):
        errors.append(invalid(f"{path}.hostPath.path", volume["hostPath"]["path"], "must not contain '..'"))
    if "nfs" in volume:
        errors += nfs_errors(volume["nfs"], f"{path}.nfs")
    for kind in ("configMap", "secret", "downwardAPI", "projected"):
        mode = (volume.get(kind) or {}).get("defaultMode")
        if mode is not None and not 0 <= mode <= 0o777:
            text = "must be a number between 0 and 0777 (octal), both inclusive"
            errors.append(invalid(f"{path}.{kind}.defaultMode", mode, text))
    return errors


def nfs_errors(nfs: JSONObject, path: str) -> Errors:
    """An NFS mount."""
    errors = [required(f"{path}.{field}") for field in ("server", "path") if not nfs.get(field)]
    if nfs.get("path") and not nfs["path"].startswith("/"):
        errors.append(invalid(f"{path}.path", nfs["path"], "must be an absolute path"))
    return errors


def _affinity(affinity: JSONObject, path: str) -> Errors:
    errors: Errors = []
    node = affinity.get("nodeAffinity") or {}
    needed = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if needed is not None:
        place = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        terms = needed.get("nodeSelectorTerms") or []
        if not terms:
            errors.append(required(place, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            errors += _node_terms(term, f"{place}[{index}]")
    preferred = node.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    for index, choice in enumerate(preferred):
        place = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        errors += _weight(choice, place)
        errors += _node_terms(choice.get("preference") or {}, f"{place}.preference")
    for word in ("podAffinity", "podAntiAffinity"):
        errors += _pod_affinity(affinity.get(word) or {}, f"{path}.{word}")
    return errors


def _weight(choice: JSONObject, path: str) -> Errors:
    weight = choice.get("weight") or 0
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _node_terms(term: JSONObject, path: str) -> Errors:
    errors: Errors = []
    operators = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        place = f"{path}.matchExpressions[{index}]"
        operator = expression.get("operator")
        values = expression.get("values") or []
        if operator in ("In", "NotIn") and not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(f"{place}.values", text))
        elif operator in ("Exists", "DoesNotExist") and values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{place}.values", text))
        elif operator in ("Gt", "Lt") and len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{place}.values", text))
        elif operator not in operators:
            errors.append(invalid(f"{place}.operator", operator or "", "not a valid selector operator"))
        errors += qualified_name(f"{place}.key", expression.get("key") or "")
    return errors


def _pod_affinity(affinity: JSONObject, path: str) -> Errors:
    errors: Errors = []
    for index, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
        errors += _pod_term(term, f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]")
    for index, choice in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        errors += _weight(choice, place)
        errors += _pod_term(choice.get("podAffinityTerm") or {}, f"{place}.podAffinityTerm")
    return errors


def _pod_term(term: JSONObject, path: str) -> Errors:
    errors = selector(f"{path}.labelSelector", term.get("labelSelector"))
    key = term.get("topologyKey") or ""
    if not key:
        return [*errors, required(f"{path}.topologyKey", "can not be empty")]
    return errors + qualified_name(f"{path}.topologyKey", key)


def _spread(constraints: list[JSONObject], path: str) -> Errors:
    errors: Errors = []
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        errors += positive(f"{place}.maxSkew", constraint.get("maxSkew") or 0)
        key = constraint.get("topologyKey") or ""
        errors += (
            qualified_name(f"{place}.topologyKey", key)
            if key
            else [required(f"{place}.topologyKey", "can not be empty")]
        )
        action = constraint.get("whenUnsatisfiable")
        errors += one_of(f"{place}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        errors += selector(f"{place}.labelSelector", constraint.get("labelSelector"))
    return errors


def _security(context: JSONObject, path: str) -> Errors:
    errors: Errors = []
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        value = context.get(field)
        if value is not None and not 0 <= value <= 2**31 - 1:
            errors.append(invalid(f"{path}.{field}", value, "must be between 0 and 2147483647, inclusive"))
    for index, value in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= value <= 2**31 - 1:
            place = f"{path}.supplementalGroups[{index}]"
            errors.append(invalid(place, value, "must be between 0 and 2147483647, inclusive"))
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        name, place = sysctl.get("name") or "", f"{path}.sysctls[{index}].name"
        if not name:
            errors.append(required(place))
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            errors.append(invalid(place, name, _SYSCTL_RULE))
        elif name in seen:
            errors.append(duplicate(place, name))
        seen.add(name)
    for field, choices in (("fsGroupChangePolicy", ("Always", "OnRootMismatch")),):
        if (value := context.get(field)) is not None:
            errors += one_of(f"{path}.{field}", value, choices)
    return errors


_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}")
_SYSCTL_RULE = (
    "must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def pod_extras(spec: JSONObject, path: str) -> Errors:
    """What few pods have: gates, an operating system, user namespaces."""
    errors: Errors = []
    if (hostname := spec.get("hostnameOverride")) is not None:
        errors += dns_subdomain(f"{path}.hostnameOverride", hostname)
    if (system := spec.get("os")) is not None:
        name = system.get("name") or ""
        errors += _choice(f"{path}.os", name, ("linux", "windows")) if name else [required(f"{path}.os.name")]
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        errors += qualified_name(f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType") or "")
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, place = gate.get("name") or "", f"{path}.schedulingGates[{index}]"
        errors += qualified_name(place, name)
        if name in seen:
            errors.append(duplicate(place, name))
        seen.add(name)
    if spec.get("hostUsers") is False:
        for field in ("hostPID", "hostIPC"):
            if spec.get(field):
                errors.append(forbidden(f"{path}.{field[0].upper()}{field[1:]}", "when `hostUsers` is false"))
    if (policy := spec.get("preemptionPolicy")) is not None:
        errors += _choice(f"{path}.preemptionPolicy", policy, ("Never", "PreemptLowerPriority"))
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        errors += _pod_claim(claim, f"{path}.resourceClaims[{index}]")
    return errors


def _pod_claim(claim: JSONObject, path: str) -> Errors:
    name = claim.get("name") or ""
    errors = dns_label(f"{path}.name", name) if name else [required(f"{path}.name")]
    given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
    if len(given) != 1:
        shown = {
            "Name": name,
            "ResourceClaimName": claim.get("resourceClaimName"),
            "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
        }
        text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        if given:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(invalid(path, shown, text))
    for field in given:
        errors += dns_subdomain(f"{path}.{field}", claim[field])
    return errors
