"""Subresources that reach into workloads: log, exec, attach, portforward, proxy.

The server has no kubelets of its own: backends answer, injected by the composition root (the simulator for its
members, none on a bare control plane). Connecting is a CONNECT to admission.
"""

from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs

import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.failures import not_found
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context, Streamed, Upgraded
from karmada.apiserver.requests.options import flag, integer
from karmada.apiserver.resources import JSONObject
from karmada.machinery.httpserver.backends import ExecBackend, ExecRequest, LogBackend, LogRequest, PortForwardBackend
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.httpserver.model import HttpRequest

_ENTERED = frozenset({"exec", "attach", "portforward"})


class ProxyBackend(Protocol):
    """Passes HTTP requests on to a pod, service or node."""

    async def proxy(self, call: Call) -> AnyAnswer:
        """Answer the call; `call.subpath` is the path behind the proxy."""
        ...


@dataclass(slots=True)
class Backends:
    """Who answers for workloads; what is None is not available."""

    exec: ExecBackend | None = None
    forward: PortForwardBackend | None = None
    logs: LogBackend | None = None
    proxies: dict[str, ProxyBackend] = field(default_factory=dict)
    """By plural: pods, services, nodes."""


class Connect:
    """The handler of all connecting subresources."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Find the object, ask admission, hand over to the backend."""
        type_ = call.served.type
        if call.subresource in _ENTERED and call.verb != "create":
            # WebSockets are opened by GET: who may read everything must not get into pods that way.
            asked = ("create", type_.group, type_.version, type_.plural, call.subresource, call.namespace, call.name)
            call.require(context.authorizer, Attributes(*asked))
        name = proxied_name(call.name) if call.subresource == "proxy" else call.name
        item = context.store.get(call.served.key, call.namespace, name)
        if item is None:
            raise not_found(type_.group, type_.plural, name)
        if call.subresource == "log":
            return await self._log(call, orjson.loads(item.body))
        await _admit(context, call)
        if call.subresource == "proxy":
            backend = self._backends.proxies.get(type_.plural)
            if backend is None:
                raise _absent(call)
            return await backend.proxy(call)
        pod: JSONObject = orjson.loads(item.body)
        if not (pod.get("spec") or {}).get("nodeName"):
            raise bad_request(f"pod {call.name} does not have a host assigned")
        if call.http is None:
            raise bad_request(f"pods/{call.subresource} needs a connection of its own; use HTTP")
        if call.subresource == "portforward":
            return self._forward(call, call.http)
        return self._exec(call, call.http, pod)

    async def _log(self, call: Call, pod: JSONObject) -> AnyAnswer:
        params = dict(call.params)
        container = _container(call, pod, params.get("container", ""))
        if not (pod.get("spec") or {}).get("nodeName"):
            return Answer(204, b"", "")
        if self._backends.logs is None:
            raise _absent(call)
        wanted = LogRequest(
            call.namespace,
            call.name,
            container,
            flag(params, "follow"),
            flag(params, "previous"),
            flag(params, "timestamps"),
            integer(params, "tailLines"),
            integer(params, "sinceSeconds"),
            params.get("sinceTime", ""),
            integer(params, "limitBytes"),
        )
        return Streamed(200, self._backends.logs.logs(wanted), "text/plain")

    def _forward(self, call: Call, request: HttpRequest) -> AnyAnswer:
        from karmada.machinery.httpserver.forwarding import forward_upgrade

        if self._backends.forward is None:
            raise _absent(call)
        given = parse_qs(request.query).get("ports", ())
        ports = [int(port) for ports in given for port in ports.split(",") if port.isdigit()]
        upgrade = forward_upgrade(request, call.namespace, call.name, ports, self._backends.forward)
        return Upgraded(upgrade.headers, upgrade.serve)

    def _exec(self, call: Call, request: HttpRequest, pod: JSONObject) -> AnyAnswer:
        from karmada.machinery.httpserver.channels import exec_upgrade

        if self._backends.exec is None:
            raise _absent(call)
        params = dict(call.params)
        wanted = ExecRequest(
            call.namespace,
            call.name,
            _container(call, pod, params.get("container", "")),
            tuple(parse_qs(request.query, keep_blank_values=True).get("command", ())),
            flag(params, "stdin"),
            flag(params, "stdout") or "stdout" not in params,
            flag(params, "stderr") or "stderr" not in params,
            flag(params, "tty"),
        )
        upgrade = exec_upgrade(request, wanted, self._backends.exec)
        return Upgraded(upgrade.headers, upgrade.serve)


def proxied_name(name: str) -> str:
    """The object that a proxy request names as `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`."""
    parts = name.split(":")
    return parts[1] if len(parts) == 3 else parts[0]


def _container(call: Call, pod: JSONObject, name: str) -> str:
    """The container that is meant: the named one, or the only one."""
    spec = pod.get("spec") or {}
    names = [container["name"] for container in spec.get("containers") or ()]
    others = [
        container["name"] for group in ("initContainers", "ephemeralContainers") for container in spec.get(group) or ()
    ]
    if name:
        if name not in names and name not in others:
            raise bad_request(f"container {name} is not valid for pod {call.name}")
        return name
    if len(names) == 1:
        return str(names[0])
    default = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if default in names:
        return str(default)
    text = f"a container name must be specified for pod {call.name}, choose one of: [{' '.join(names)}]"
    if spec.get("initContainers"):
        inits = [container["name"] for container in spec["initContainers"]]
        text += f" or one of the init containers: [{' '.join(inits)}]"
    raise bad_request(text)


async def _admit(context: Context, call: Call) -> None:
    request = AdmissionRequest(
        Operation.CONNECT,
        call.served.type,
        call.namespace,
        call.name,
        call.subresource,
        None,
        None,
        call.user,
        {},
        warnings=call.warnings,
    )
    await context.admission.mutate(request)
    await context.admission.validate(request)


def _absent(call: Call) -> Failure:
    message = f"this server runs no workloads: {call.served.type.plural}/{call.subresource} is not available"
    return Failure(501, "NotImplemented", message)
