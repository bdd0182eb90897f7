"""The level of customised webhooks: who is asked, with what words, and what the answer means.

No HTTP here: `Post` sends one request and gives the body of the answer. A request that does not arrive is sent again,
with a growing pause, until the webhook's time is over.
"""

import asyncio
import base64
import binascii
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import orjson

from karmada.api import json_patch
from karmada.api.codec import DecodeError, decode, encode, raw, tree
from karmada.api.config.v1alpha1 import (
    DependentObjectReference,
    ResourceInterpreterContext,
    ResourceInterpreterRequest,
    ResourceInterpreterResponse,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
    ServiceReference,
)
from karmada.api.config.v1alpha1 import GroupVersionKind as Kind
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import (
    GroupVersionKind,
    InterpretError,
    JSONObject,
    NoRule,
    Operation,
    ReplicaNeeds,
    Unavailable,
    kind_of,
)

T = TypeVar("T")

CONTEXT_VERSION = "v1alpha1"
DEFAULT_SECONDS = 10
DEFAULT_PORT = 443
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 4.0
JSON_PATCH = "JSONPatch"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how a webhook is reached."""

    url: str
    ca_bundle: bytes = b""
    """Certificates that may sign its certificate; the system's when empty."""
    server_name: str = ""
    """The name its certificate must carry when that is not the one in the address."""


class NotDelivered(Exception):
    """A request did not reach the webhook, or its answer did not come back; trying again may help."""


Post = Callable[[Endpoint, bytes], Awaitable[bytes]]
"""Send JSON to an endpoint and give the body of the answer; raises `NotDelivered`."""

Locate = Callable[[ServiceReference], Awaitable[str]]
"""The host and port of a Service as this process reaches it."""


async def by_name(service: ServiceReference) -> str:
    """The name that a Service has inside its cluster."""
    return f"{service.name}.{service.namespace}.svc:{service.port or DEFAULT_PORT}"


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of one configuration."""

    id: str
    webhook: ResourceInterpreterWebhook
    source: str
    """The configuration it is from, as `Kind/name`."""

    def covers(self, kind: GroupVersionKind, operation: Operation) -> bool:
        return any(_covers(rule, kind, operation) for rule in self.webhook.rules)


def hooks_of(configurations: Iterable[ResourceInterpreterWebhookConfiguration]) -> tuple[Hook, ...]:
    """All webhooks in the order in which they are looked at."""
    hooks = [
        Hook(
            f"{configuration.metadata.name}/{webhook.name}",
            webhook,
            f"{configuration.kind}/{configuration.metadata.name}",
        )
        for configuration in configurations
        for webhook in configuration.webhooks
    ]
    return tuple(sorted(hooks, key=lambda hook: hook.id))


def _covers(rule: RuleWithOperations, kind: GroupVersionKind, operation: Operation) -> bool:
    tests = (
        (rule.operations, str(operation)),
        (rule.api_groups, kind.group),
        (rule.api_versions, kind.version),
        (rule.kinds, kind.kind),
    )
    return all("*" in allowed or value in allowed for allowed, value in tests)


@dataclass(slots=True)
class WebhookLevel:
    """Asks webhooks. `hooks` may be replaced at any time."""

    post: Post
    hooks: Sequence[Hook] = ()
    locate: Locate = by_name
    name: str = "customised webhook"

    def enabled(self, kind: GroupVersionKind, operation: Operation) -> bool:
        return bool(self.hooks) and any(hook.covers(kind, operation) for hook in self.hooks)

    async def replicas(self, resource: JSONObject) -> ReplicaNeeds:
        return await self._ask(resource, Operation.REPLICAS, _needs)

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        return await self._ask(resource, Operation.COMPONENTS, lambda response: response.components)

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        return await self._ask(resource, Operation.REVISE, partial(_patched, resource), desired_replicas=replicas)

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        return await self._ask(desired, Operation.RETAIN, partial(_patched, desired), observed_object=raw(observed))

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        return await self._ask(observed, Operation.REFLECT, _status)

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        read = partial(_patched, template)
        return await self._ask(template, Operation.AGGREGATE, read, aggregated_status=tuple(items))

    async def healthy(self, observed: JSONObject) -> bool:
        return await self._ask(observed, Operation.HEALTH, _health)

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        return await self._ask(resource, Operation.DEPENDENCIES, lambda response: response.dependencies)

    async def _ask(
        self,
        resource: JSONObject,
        operation: Operation,
        read: Callable[[ResourceInterpreterResponse], T],
        **others: Any,
    ) -> T:
        hook = self._hook(kind_of(resource), operation)
        request = _request(resource, operation, **others)
        seconds = hook.webhook.timeout_seconds or DEFAULT_SECONDS
        try:
            async with asyncio.timeout(seconds):
                answer = await self._deliver(await self._endpoint(hook), encode(request_context(request)))
            return read(response_to(request, answer, hook.id))
        except TimeoutError:
            error = InterpretError(f"webhook {hook.id} did not answer within {seconds}s")
            error.source = hook.source
            raise error from None
        except InterpretError as error:
            error.source = hook.source
            raise

    def _hook(self, kind: GroupVersionKind, operation: Operation) -> Hook:
        for hook in self.hooks:
            if hook.covers(kind, operation):
                return hook
        raise NoRule(f"no webhook answers {operation} for {kind.kind}")

    async def _endpoint(self, hook: Hook) -> Endpoint:
        if CONTEXT_VERSION not in hook.webhook.interpreter_context_versions:
            raise Unavailable(f"webhook {hook.id} does not speak version {CONTEXT_VERSION} of the protocol")
        client = hook.webhook.client_config
        try:
            bundle = base64.b64decode(client.ca_bundle, validate=True)
        except binascii.Error as error:
            raise Unavailable(f"webhook {hook.id}: clientConfig.caBundle is not base64") from error
        if client.url and client.service is None:
            return Endpoint(client.url, bundle)
        if client.service is None or client.url:
            raise Unavailable(f"webhook {hook.id}: clientConfig needs either url or service")
        service = client.service
        path = (service.path or "").removeprefix("/")
        return Endpoint(
            f"https://{await self.locate(service)}/{path}", bundle, f"{service.name}.{service.namespace}.svc"
        )

    async def _deliver(self, endpoint: Endpoint, body: bytes) -> bytes:
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.post(endpoint, body)
            except NotDelivered:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)


def _request(resource: JSONObject, operation: Operation, **others: Any) -> ResourceInterpreterRequest:
    kind = kind_of(resource)
    metadata = resource.get("metadata") or {}
    return ResourceInterpreterRequest(
        uid=str(uuid.uuid4()),
        kind=Kind(group=kind.group, version=kind.version, kind=kind.kind),
        name=metadata.get("name") or "",
        namespace=metadata.get("namespace") or "",
        operation=operation,
        object=raw(resource),
        **others,
    )


def request_context(request: ResourceInterpreterRequest) -> ResourceInterpreterContext:
    return ResourceInterpreterContext(request=request)


def response_to(request: ResourceInterpreterRequest, body: bytes, hook: str) -> ResourceInterpreterResponse:
    """The answer, if it is one to this request and says that it succeeded."""
    try:
        response = decode(body, ResourceInterpreterContext).response
    except DecodeError as error:
        raise InterpretError(f"webhook {hook} gave no valid answer: {error}") from error
    if response is None:
        raise InterpretError(f"webhook {hook} gave no answer: response is missing")
    if response.uid != request.uid:
        raise InterpretError(f"webhook {hook} answered another question: uid {response.uid!r}, not {request.uid!r}")
    if not response.successful:
        status = response.status
        why = f"{status.message} (code {status.code})" if status else "it does not say why"
        raise InterpretError(f"webhook {hook} failed: {why}")
    if response.patch and response.patch_type != JSON_PATCH:
        raise InterpretError(f"webhook {hook}: patchType is {response.patch_type!r}, only {JSON_PATCH} is supported")
    return response


def _needs(response: ResourceInterpreterResponse) -> ReplicaNeeds:
    if response.replicas is None:
        raise InterpretError("the webhook's answer lacks replicas")
    return ReplicaNeeds(response.replicas, response.replica_requirements)


def _health(response: ResourceInterpreterResponse) -> bool:
    if response.healthy is None:
        raise InterpretError("the webhook's answer lacks healthy")
    return response.healthy


def _status(response: ResourceInterpreterResponse) -> JSONObject:
    status: JSONObject | None = tree(response.raw_status)
    if status is None:
        raise InterpretError("the webhook's answer lacks rawStatus")
    return status


def _patched(resource: JSONObject, response: ResourceInterpreterResponse) -> JSONObject:
    if not response.patch:
        return resource
    try:
        operations = orjson.loads(base64.b64decode(response.patch, validate=True))
        patched: JSONObject = json_patch.apply(resource, operations)
    except (binascii.Error, orjson.JSONDecodeError, json_patch.JSONPatchError) as error:
        raise InterpretError(f"the webhook's patch does not apply: {error}") from error
    return patched
