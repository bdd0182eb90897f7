"""Deployments and the pods they are made of."""

from datetime import UTC
from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page

JSONObject = dict[str, Any]


def deployment(page: Page, item: JSONObject) -> None:
    """A Deployment."""
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    page.field(0, "Name", about["name"])
    page.field(0, "Namespace", about.get("namespace", ""))
    page.field(0, "CreationTimestamp", _time(about.get("creationTimestamp", "")))
    metadata.labels(page, about.get("labels"))
    metadata.annotations(page, about.get("annotations"))
    page.field(0, "Selector", selector(spec.get("selector") or {}))
    count = {name: status.get(f"{name}Replicas", 0) for name in ("updated", "available", "unavailable")}
    total = status.get("replicas", 0)
    page.field(
        0,
        "Replicas",
        f"{spec.get('replicas', 1)} desired | {count['updated']} updated | {total} total | "
        f"{count['available']} available | {count['unavailable']} unavailable",
    )
    strategy = spec.get("strategy") or {}
    page.field(0, "StrategyType", strategy.get("type", ""))
    page.field(0, "MinReadySeconds", spec.get("minReadySeconds", 0))
    if rolling := strategy.get("rollingUpdate"):
        text = f"{rolling.get('maxUnavailable', '25%')} max unavailable, {rolling.get('maxSurge', '25%')} max surge"
        page.field(0, "RollingUpdateStrategy", text)
    pod_template(page, spec.get("template") or {})
    conditions(page, status.get("conditions") or [])


def conditions(page: Page, found: list[JSONObject]) -> None:
    """Conditions as a table."""
    if not found:
        return
    page.line(0, "Conditions:")
    page.line(1, "Type", "Status", "Reason")
    page.line(1, "----", "------", "------")
    for condition in found:
        page.line(1, condition.get("type", ""), condition.get("status", ""), condition.get("reason", ""))


def pod_template(page: Page, template: JSONObject) -> None:
    """The template of pods."""
    page.line(0, "Pod Template:")
    about, spec = template.get("metadata") or {}, template.get("spec") or {}
    metadata.labels(page, about.get("labels"), level=1)
    if about.get("annotations"):
        metadata.annotations(page, about["annotations"], level=1)
    if spec.get("serviceAccountName"):
        page.field(1, "Service Account", spec["serviceAccountName"])
    pod_spec(page, spec, 1)


def pod_spec(page: Page, spec: JSONObject, level: int) -> None:
    """Containers, volumes, and where pods may run."""
    for title, key in (("Init Containers", "initContainers"), ("Containers", "containers")):
        if spec.get(key):
            page.line(level, f"{title}:")
            for container in spec[key]:
                _container(page, container, level)
    volumes(page, spec.get("volumes") or [], level)
    chosen = [f"{key}={value}" for key, value in sorted((spec.get("nodeSelector") or {}).items())]
    page.several(level, "Node-Selectors", chosen)
    page.several(level, "Tolerations", [toleration(one) for one in spec.get("tolerations") or ()])


def _container(page: Page, container: JSONObject, level: int) -> None:
    page.line(level, f" {container['name']}:")
    inner = level + 1
    page.field(inner, "Image", container.get("image", ""))
    ports = container.get("ports") or []
    label = "Port" if len(ports) <= 1 else "Ports"
    page.field(inner, label, _ports(ports, "containerPort"))
    page.field(inner, f"Host {label}", _ports(ports, "hostPort"))
    for title, key in (("Command", "command"), ("Args", "args")):
        if container.get(key):
            page.line(inner, f"{title}:")
            for word in container[key]:
                page.line(inner + 1, word)
    resources = container.get("resources") or {}
    for title in ("limits", "requests"):
        if resources.get(title):
            page.line(inner, f"{title.title()}:")
            for name, amount in sorted(resources[title].items()):
                page.field(inner + 1, name, amount)
    _environment(page, container.get("env") or [], inner)
    mounts = [f"{mount['mountPath']} from {mount['name']} ({_access(mount)})" for mount in _by_path(container)]
    if not mounts:
        page.field(inner, "Mounts", "<none>")
        return
    page.line(inner, "Mounts:")
    for mount in mounts:
        page.line(inner + 1, mount)


def _by_path(container: JSONObject) -> list[JSONObject]:
    return sorted(container.get("volumeMounts") or [], key=lambda mount: str(mount["mountPath"]))


def _access(mount: JSONObject) -> str:
    return "ro" if mount.get("readOnly") else "rw"


def _environment(page: Page, found: list[JSONObject], level: int) -> None:
    if not found:
        page.field(level, "Environment", "<none>")
        return
    page.line(level, "Environment:")
    for entry in found:
        page.field(level + 1, entry["name"], _value(entry))


def _value(entry: JSONObject) -> str:
    source = entry.get("valueFrom") or {}
    for kind, word in (("configMapKeyRef", "config map"), ("secretKeyRef", "secret")):
        if ref := source.get(kind):
            return f"<set to the key '{ref.get('key', '')}' of {word} '{ref.get('name', '')}'>"
    if ref := source.get("fieldRef"):
        return f"({ref.get('apiVersion', 'v1')}:{ref.get('fieldPath', '')})"
    return str(entry.get("value", ""))


def _ports(ports: list[JSONObject], key: str) -> str:
    return ", ".join(f"{port.get(key, 0)}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


def volumes(page: Page, found: list[JSONObject], level: int) -> None:
    """Volumes with where they come from."""
    if not found:
        page.field(level, "Volumes", "<none>")
        return
    page.line(level, "Volumes:")
    for volume in found:
        page.line(level, f" {volume['name']}:")
        for kind, source in volume.items():
            if kind == "name":
                continue
            page.field(level + 1, "Type", kind[0].upper() + kind[1:])
            for key, value in sorted((source or {}).items()):
                if isinstance(value, str | int | bool):
                    page.field(level + 1, key[0].upper() + key[1:], value)


def toleration(one: JSONObject) -> str:
    """`key=value:Effect op=Exists for 300s`."""
    text = str(one.get("key", ""))
    if one.get("value"):
        text += f"={one['value']}"
    if one.get("effect"):
        text += f":{one['effect']}"
    if one.get("operator") == "Exists":
        text += " op=Exists"
    if one.get("tolerationSeconds") is not None:
        text += f" for {one['tolerationSeconds']}s"
    return text.strip()


def selector(found: JSONObject) -> str:
    """A label selector on one line."""
    parts = [f"{key}={value}" for key, value in sorted((found.get("matchLabels") or {}).items())]
    for test in found.get("matchExpressions") or ():
        values = ",".join(test.get("values") or ())
        match test.get("operator"):
            case "Exists":
                parts.append(test["key"])
            case "DoesNotExist":
                parts.append(f"!{test['key']}")
            case operator:
                parts.append(f"{test['key']} {str(operator).lower()} ({values})")
    return ",".join(parts) or "<none>"


def _time(text: str) -> str:
    from karmada.api.timestamps import parse

    return parse(text).astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000") if text else "<unset>"
