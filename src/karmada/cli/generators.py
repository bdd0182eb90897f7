"""Objects made from arguments: what `karmadactl create KIND` writes."""

import base64
from pathlib import Path
from typing import Any

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values

JSONObject = dict[str, Any]


def _object(api_version: str, kind: str, name: str, **parts: Any) -> JSONObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}


def namespace(name: str, flags: Values) -> JSONObject:
    return _object("v1", "Namespace", name)


def service_account(name: str, flags: Values) -> JSONObject:
    return _object("v1", "ServiceAccount", name)


def config_map(name: str, flags: Values) -> JSONObject:
    return _object("v1", "ConfigMap", name, data=_literals(flags))


def secret(name: str, flags: Values) -> JSONObject:
    return _object("v1", "Secret", name, type=flags.type or "Opaque", data=_encoded(_literals(flags)))


def tls_secret(name: str, flags: Values) -> JSONObject:
    if not flags.cert or not flags.key:
        raise CommandError("key and cert must be specified")
    data = {"tls.crt": Path(flags.cert).read_text(), "tls.key": Path(flags.key).read_text()}
    return _object("v1", "Secret", name, type="kubernetes.io/tls", data=_encoded(data))


def registry_secret(name: str, flags: Values) -> JSONObject:
    import json

    if not flags.docker_username or not flags.docker_password:
        raise CommandError("either --from-file or the combination of --docker-username, --docker-password is required")
    pair = base64.b64encode(f"{flags.docker_username}:{flags.docker_password}".encode()).decode()
    entry = {"username": flags.docker_username, "password": flags.docker_password, "auth": pair}
    if flags.docker_email:
        entry["email"] = flags.docker_email
    config = json.dumps({"auths": {flags.docker_server: entry}})
    data = _encoded({".dockerconfigjson": config})
    return _object("v1", "Secret", name, type="kubernetes.io/dockerconfigjson", data=data)


def deployment(name: str, flags: Values) -> JSONObject:
    if not flags.image:
        raise CommandError('required flag(s) "image" not set')
    labels = {"app": name}
    containers: list[JSONObject] = []
    for image in flags.image:
        stem = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
        container: JSONObject = {"name": stem, "image": image}
        if flags.port:
            container["ports"] = [{"containerPort": flags.port}]
        if flags.after_dashes:
            container["command"] = flags.after_dashes
        containers.append(container)
    spec = {
        "replicas": flags.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    return _object("apps/v1", "Deployment", name, spec=spec) | {"metadata": {"name": name, "labels": labels}}


def _job_spec(name: str, flags: Values) -> JSONObject:
    if not flags.image:
        raise CommandError('required flag(s) "image" not set')
    container: JSONObject = {"name": name, "image": flags.image}
    if flags.after_dashes:
        container["command"] = flags.after_dashes
    return {"template": {"spec": {"containers": [container], "restartPolicy": flags.restart}}}


def job(name: str, flags: Values) -> JSONObject:
    return _object("batch/v1", "Job", name, spec=_job_spec(name, flags))


def cron_job(name: str, flags: Values) -> JSONObject:
    if not flags.schedule:
        raise CommandError('required flag(s) "schedule" not set')
    template = {"metadata": {"name": name}, "spec": _job_spec(name, flags)}
    return _object("batch/v1", "CronJob", name, spec={"schedule": flags.schedule, "jobTemplate": template})


def quota(name: str, flags: Values) -> JSONObject:
    spec: JSONObject = {"hard": dict(_pair(word, "--hard") for word in flags.hard)}
    if flags.scopes:
        spec["scopes"] = flags.scopes
    return _object("v1", "ResourceQuota", name, spec=spec)


def _rules(flags: Values) -> list[JSONObject]:
    if not flags.verb:
        raise CommandError("at least one verb must be specified")
    rules: dict[str, list[str]] = {}
    for word in flags.resource:
        resource, _, group = word.partition(".")
        rules.setdefault(group, []).append(resource)
    names = {"resourceNames": flags.resource_name} if flags.resource_name else {}
    found = [
        {"apiGroups": [group], "resources": resources, "verbs": flags.verb, **names}
        for group, resources in rules.items()
    ]
    urls = getattr(flags, "non_resource_url", [])
    if urls:
        found.append({"nonResourceURLs": urls, "verbs": flags.verb})
    if not found:
        raise CommandError("at least one resource must be specified")
    return found


def role(name: str, flags: Values) -> JSONObject:
    return _object("rbac.authorization.k8s.io/v1", "Role", name, rules=_rules(flags))


def cluster_role(name: str, flags: Values) -> JSONObject:
    return _object("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=_rules(flags))


def _subjects(flags: Values) -> list[JSONObject]:
    group = "rbac.authorization.k8s.io"
    found: list[JSONObject] = [{"kind": "User", "apiGroup": group, "name": name} for name in flags.user]
    found += [{"kind": "Group", "apiGroup": group, "name": name} for name in flags.group]
    for word in flags.serviceaccount:
        where, colon, name = word.partition(":")
        if not colon:
            raise CommandError(f"serviceaccount must be <namespace>:<name>, not {word}")
        found.append({"kind": "ServiceAccount", "namespace": where, "name": name})
    return found


def role_binding(name: str, flags: Values) -> JSONObject:
    if bool(flags.role) == bool(flags.clusterrole):
        raise CommandError("exactly one of clusterrole or role must be specified")
    kind, target = ("Role", flags.role) if flags.role else ("ClusterRole", flags.clusterrole)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": target}
    return _object("rbac.authorization.k8s.io/v1", "RoleBinding", name, subjects=_subjects(flags), roleRef=reference)


def cluster_role_binding(name: str, flags: Values) -> JSONObject:
    if not flags.clusterrole:
        raise CommandError('required flag(s) "clusterrole" not set')
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": flags.clusterrole}
    api = "rbac.authorization.k8s.io/v1"
    return _object(api, "ClusterRoleBinding", name, subjects=_subjects(flags), roleRef=reference)


def disruption_budget(name: str, flags: Values) -> JSONObject:
    if not flags.selector:
        raise CommandError("a selector must be specified")
    spec: JSONObject = {
        "selector": {"matchLabels": dict(_pair(word, "--selector") for word in flags.selector.split(","))}
    }
    if bool(flags.min_available) == bool(flags.max_unavailable):
        raise CommandError("one of min-available or max-unavailable must be specified")
    key, text = (
        ("minAvailable", flags.min_available) if flags.min_available else ("maxUnavailable", flags.max_unavailable)
    )
    spec[key] = int(text) if text.isdigit() else text
    return _object("policy/v1", "PodDisruptionBudget", name, spec=spec)


def priority_class(name: str, flags: Values) -> JSONObject:
    return _object(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        name,
        value=flags.value,
        globalDefault=flags.global_default,
        description=flags.description,
        preemptionPolicy=flags.preemption_policy,
    )


def ingress(name: str, flags: Values) -> JSONObject:
    rules: dict[str, list[JSONObject]] = {}
    secure: list[JSONObject] = []
    for rule in flags.rule:
        front, _, rest = rule.partition("=")
        backend, _, option = rest.partition(",")
        host, slash, path = front.partition("/")
        target, _, port = backend.partition(":")
        if not target or not port:
            raise CommandError(
                f"rule {rule} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]"
            )
        kind = "Prefix" if path.endswith("*") else "Exact"
        number: JSONObject = {"number": int(port)} if port.isdigit() else {"name": port}
        service_backend = {"service": {"name": target, "port": number}}
        entry = {"path": slash + path.removesuffix("*"), "pathType": kind, "backend": service_backend}
        rules.setdefault(host, []).append(entry)
        if option.startswith("tls"):
            named = option.partition("=")[2]
            secure.append({**({"secretName": named} if named else {}), **({"hosts": [host]} if host else {})})
    spec: JSONObject = {}
    chosen = getattr(flags, "class")
    if chosen:
        spec["ingressClassName"] = chosen
    spec["rules"] = [{**({"host": host} if host else {}), "http": {"paths": paths}} for host, paths in rules.items()]
    if secure:
        spec["tls"] = secure
    return _object("networking.k8s.io/v1", "Ingress", name, spec=spec)


def service(kind: str) -> Any:
    """A maker of services of a type."""

    def make(name: str, flags: Values) -> JSONObject:
        labels = {"app": name}
        spec: JSONObject = {"type": kind, "selector": labels}
        if kind == "ExternalName":
            if not flags.external_name:
                raise CommandError('required flag(s) "external-name" not set')
            spec["externalName"] = flags.external_name
        ports = []
        for word in flags.tcp:
            port, _, target = word.partition(":")
            entry: JSONObject = {"name": word.replace(":", "-"), "port": int(port), "protocol": "TCP"}
            entry["targetPort"] = int(target or port) if (target or port).isdigit() else target
            if getattr(flags, "node_port", 0):
                entry["nodePort"] = flags.node_port
            ports.append(entry)
        if getattr(flags, "clusterip", ""):
            spec["clusterIP"] = flags.clusterip
        if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
            raise CommandError("at least one tcp port specifier must be provided")
        if ports:
            spec["ports"] = ports
        return _object("v1", "Service", name, spec=spec) | {"metadata": {"name": name, "labels": labels}}

    return make


def _literals(flags: Values) -> dict[str, str]:
    data = dict(_pair(word, "--from-literal") for word in flags.from_literal)
    for word in flags.from_file:
        key, equals, path = word.partition("=")
        source = Path(path if equals else key)
        if source.is_dir():
            data |= {file.name: file.read_text() for file in sorted(source.iterdir()) if file.is_file()}
            continue
        if not source.is_file():
            raise CommandError(f"error reading {source}: no such file or directory")
        data[key if equals else source.name] = source.read_text()
    for path in flags.from_env_file:
        for line in Path(path).read_text().splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                name, value = _pair(line.strip(), path)
                data[name] = value
    return data


def _pair(word: str, where: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise CommandError(f"invalid value {word!r} of {where}: expected key=value")
    return key, value


def _encoded(data: dict[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
