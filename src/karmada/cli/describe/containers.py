"""Containers: of pods with their state, of templates without."""

from typing import Any

from karmada.cli.describe.metadata import time
from karmada.cli.describe.page import Page

JSONObject = dict[str, Any]
_PROBES = (("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe"))


def containers(page: Page, level: int, spec: JSONObject, pod: JSONObject | None) -> None:
    """All containers. `pod` is the pod they run in; `level` is where their title stands."""
    status = (pod or {}).get("status") or {}
    for title, key, states in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
        ("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses"),
    ):
        if not spec.get(key):
            continue
        page.line(level, f"{title}:")
        known = {one["name"]: one for one in status.get(states) or ()}
        for container in spec[key]:
            page.line(0, f"{' ' * (2 if pod else 3)}{container['name']}:")
            _container(page, container, known.get(container["name"]), pod)


def _container(page: Page, container: JSONObject, state: JSONObject | None, pod: JSONObject | None) -> None:
    if state:
        page.field(2, "Container ID", state.get("containerID", ""))
    page.field(2, "Image", container.get("image", ""))
    if state:
        page.field(2, "Image ID", state.get("imageID", ""))
    ports = container.get("ports") or []
    label = "Port" if len(ports) <= 1 else "Ports"
    page.field(2, label, _ports(ports, "containerPort"))
    page.field(2, f"Host {label}", _ports(ports, "hostPort"))
    seccomp(page, 2, container.get("securityContext"))
    for title in ("Command", "Args"):
        if container.get(title.lower()):
            page.line(2, f"{title}:")
            for word in container[title.lower()]:
                for line in word.split("\n"):
                    page.line(3, line)
    if state:
        _state(page, "State", state.get("state") or {})
        if (state.get("lastState") or {}).get("terminated"):
            _state(page, "Last State", state["lastState"])
        page.field(2, "Ready", "True" if state.get("ready") else "False")
        page.field(2, "Restart Count", state.get("restartCount", 0))
    resources = container.get("resources") or {}
    for title in ("limits", "requests"):
        if resources.get(title):
            page.line(2, f"{title.title()}:")
            for name, amount in sorted(resources[title].items()):
                page.field(3, name, amount)
    for title, key in _PROBES:
        if container.get(key):
            page.field(2, title, _probe(container[key]))
    _sources(page, container.get("envFrom") or [])
    _environment(page, container, pod)
    _mounts(page, container)


def seccomp(page: Page, level: int, context: JSONObject | None) -> None:
    """The system calls that are let through, where that is set."""
    if profile := (context or {}).get("seccompProfile"):
        page.field(level, "SeccompProfile", profile.get("type", ""))
        if profile.get("type") == "Localhost":
            page.field(level + 1, "LocalhostProfile", profile.get("localhostProfile", ""))


def _ports(ports: list[JSONObject], key: str) -> str:
    return ", ".join(f"{port.get(key, 0)}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


def _state(page: Page, title: str, state: JSONObject) -> None:
    if running := state.get("running"):
        page.field(2, title, "Running")
        page.field(3, "Started", time(running.get("startedAt")))
    elif ended := state.get("terminated"):
        page.field(2, title, "Terminated")
        for name in ("reason", "message"):
            if ended.get(name):
                page.field(3, name.title(), ended[name])
        page.field(3, "Exit Code", ended.get("exitCode", 0))
        if ended.get("signal"):
            page.field(3, "Signal", ended["signal"])
        page.field(3, "Started", time(ended.get("startedAt")))
        page.field(3, "Finished", time(ended.get("finishedAt")))
    else:
        page.field(2, title, "Waiting")
        if reason := (state.get("waiting") or {}).get("reason"):
            page.field(3, "Reason", reason)


def _probe(probe: JSONObject) -> str:
    times = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 1)}s "
        f"period={probe.get('periodSeconds', 10)}s #success={probe.get('successThreshold', 1)} "
        f"#failure={probe.get('failureThreshold', 3)}"
    )
    if http := probe.get("httpGet"):
        path = "/" + str(http.get("path", "")).removeprefix("/")
        return f"http-get {http.get('scheme', 'HTTP').lower()}://{http.get('host', '')}:{http['port']}{path} {times}"
    if tcp := probe.get("tcpSocket"):
        return f"tcp-socket {tcp.get('host', '')}:{tcp['port']} {times}"
    if grpc := probe.get("grpc"):
        return f"grpc <pod>:{grpc['port']} {grpc.get('service') or ''} {times}"
    if "exec" in probe:
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {times}"
    return f"unknown {times}"


def _sources(page: Page, found: list[JSONObject]) -> None:
    if not found:
        return
    page.line(2, "Environment Variables from:")
    for source in found:
        kind, ref = (
            ("ConfigMap", source["configMapRef"]) if "configMapRef" in source else ("Secret", source["secretRef"])
        )
        prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
        page.line(3, ref.get("name", ""), f"{kind}{prefix}", f"Optional: {_bool(ref.get('optional'))}")


def _environment(page: Page, container: JSONObject, pod: JSONObject | None) -> None:
    if not container.get("env"):
        page.field(2, "Environment", "<none>")
        return
    page.line(2, "Environment:")
    for entry in container["env"]:
        source = entry.get("valueFrom") or {}
        if ref := source.get("configMapKeyRef"):
            text = f"<set to the key '{ref['key']}' of config map '{ref.get('name', '')}'>"
            page.line(3, f"{entry['name']}:", text, f"Optional: {_bool(ref.get('optional'))}")
        elif ref := source.get("secretKeyRef"):
            text = f"<set to the key '{ref['key']}' in secret '{ref.get('name', '')}'>"
            page.line(3, f"{entry['name']}:", text, f"Optional: {_bool(ref.get('optional'))}")
        else:
            page.several(3, entry["name"], _value(entry, container, pod).split("\n"))


def _value(entry: JSONObject, container: JSONObject, pod: JSONObject | None) -> str:
    source = entry.get("valueFrom") or {}
    if ref := source.get("fieldRef"):
        return f"{_of_pod(ref['fieldPath'], pod)} ({ref.get('apiVersion', 'v1')}:{ref['fieldPath']})"
    if ref := source.get("resourceFieldRef"):
        return f"{_amount(ref, container)} ({ref['resource']})"
    return str(entry.get("value", ""))


def _of_pod(path: str, pod: JSONObject | None) -> str:
    about = (pod or {}).get("metadata") or {}
    field, bracket, key = path.removeprefix("metadata.").partition("['")
    value = (about.get(field) or {}).get(key.removesuffix("']"), "") if bracket else about.get(field, "")
    return str(value) if path.startswith("metadata.") and not isinstance(value, dict) else ""


def _amount(ref: JSONObject, container: JSONObject) -> int:
    from karmada.api.quantity import Quantity

    kind, _, name = ref["resource"].partition(".")
    amount = Quantity.parse(((container.get("resources") or {}).get(kind) or {}).get(name, "0"))
    divisor = Quantity.parse(ref.get("divisor") or "1")
    if not divisor:
        divisor = Quantity.parse("1")
    if name == "cpu":
        return -(-amount.milli_value() // divisor.milli_value())
    return -(-amount.value() // divisor.value())


def _mounts(page: Page, container: JSONObject) -> None:
    mounts = sorted(container.get("volumeMounts") or (), key=lambda mount: str(mount["mountPath"]))
    page.line(2, *(("Mounts:",) if mounts else ("Mounts:", "<none>")))
    for mount in mounts:
        access = "ro" if mount.get("readOnly") else "rw"
        path = f',path="{mount["subPath"]}"' if mount.get("subPath") else ""
        page.line(3, f"{mount['mountPath']} from {mount['name']} ({access}{path})")
    devices = sorted(container.get("volumeDevices") or (), key=lambda device: str(device["devicePath"]))
    if devices:
        page.field(2, "Devices", "<none>")
        for device in devices:
            page.line(3, f"{device['devicePath']} from {device['name']}")


def _bool(value: bool | None) -> str:
    return "true" if value else "false"
