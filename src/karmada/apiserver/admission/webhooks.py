"""Mutating and validating admission webhooks.

Mutating hooks run one after another in the order of their configurations' names; when all have run, those with
`reinvocationPolicy: IfNeeded` run once more if a later one changed the object. Validating hooks run side by side. A
call that fails is a refusal or is ignored, as its failure policy says.
"""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from karmada.apiserver.admission import matching, reviews
from karmada.apiserver.admission.configurations import Configurations
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.reviews import BadReview, Verdict
from karmada.apiserver.auth.model import Authorizer
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.failures import internal
from karmada.apiserver.outgoing import Caller, CallFailed, Target, target_of
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.httpserver.failure import Failure, bad_request

_GROUP = "admissionregistration.k8s.io"
Decode = Callable[[AdmissionRequest, JSONObject], JSONObject]
"""Brings an object that a webhook changed back into its canonical form."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of one configuration."""

    configuration: str
    spec: JSONObject

    @property
    def name(self) -> str:
        """The webhook's own name."""
        return str(self.spec["name"])

    @property
    def ignores_failures(self) -> bool:
        """Whether a failed call lets the request pass."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def seconds(self) -> int:
        """How long a call may take."""
        return int(self.spec.get("timeoutSeconds") or 10)


def _hooks(configurations: list[JSONObject]) -> list[Hook]:
    return [
        Hook(configuration["metadata"]["name"], webhook)
        for configuration in configurations
        for webhook in configuration.get("webhooks") or ()
    ]


class Webhooks:
    """What mutating and validating webhooks share: which are concerned, and how one is asked."""

    def __init__(
        self,
        store: WatchCache,
        catalog: Catalog,
        authorizer: Authorizer,
        caller: Caller,
        uid: Callable[[], str],
        decode: Decode,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._authorizer = authorizer
        self._caller = caller
        self._uid = uid
        self.decode = decode
        self.mutating = Configurations(store, (_GROUP, "mutatingwebhookconfigurations"), _hooks)
        self.validating = Configurations(store, (_GROUP, "validatingwebhookconfigurations"), _hooks)

    def namespace_labels(self, request: AdmissionRequest) -> dict[str, str]:
        """Labels of the namespace a request is in."""
        item = self._store.get(("", "namespaces"), "", request.namespace)
        return dict(item.index.labels) if item is not None else {}

    async def concerned(self, hook: Hook, request: AdmissionRequest) -> matching.Matched | None:
        """The matching resource when the webhook is to be asked."""
        spec = hook.spec
        matched = matching.match_rules(
            spec.get("rules") or (), spec.get("matchPolicy") or "Equivalent", request, self._catalog
        )
        if matched is None:
            return None
        if not matching.selects_namespace(spec.get("namespaceSelector"), request, self.namespace_labels(request)):
            return None
        if not matching.selects_object(spec.get("objectSelector"), request):
            return None
        if spec.get("matchConditions") and not self._conditions_hold(hook, request):
            return None
        if request.dry_run and spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
            raise bad_request(f"admission webhook {hook.name!r} does not support dry run".replace("'", '"'))
        return matched

    def _conditions_hold(self, hook: Hook, request: AdmissionRequest) -> bool:
        """Whether all match conditions hold: one that does not excuses the webhook, whatever others do."""
        from karmada.apiserver import cel
        from karmada.apiserver.admission.expressions import Expressions

        expressions = Expressions(request, self._authorizer, None)
        errors = []
        for condition in hook.spec["matchConditions"]:
            try:
                if expressions.evaluate(condition["expression"]) is not True:
                    return False
            except (cel.CompileError, cel.EvaluationError) as error:
                errors.append(f"expression '{condition['expression']}' resulted in error: {error}")
        if errors and not hook.ignores_failures:
            text = ", ".join(errors)
            raise Failure(403, "Forbidden", f'admission webhook "{hook.name}" denied the request: {text}')
        return not errors

    async def ask(
        self, hook: Hook, request: AdmissionRequest, matched: matching.Matched, mutating: bool
    ) -> Verdict | None:
        """The webhook's answer; None when it failed and its failures are ignored."""
        version = next((v for v in hook.spec["admissionReviewVersions"] if v in ("v1", "v1beta1")), "v1")
        uid = self._uid()
        obj, old = await self._converted(request, matched)
        body = orjson.dumps(reviews.review(request, matched.type, obj, old, uid, version))
        try:
            answer = await self._post(hook, body)
            return reviews.verdict(answer, uid, version, mutating)
        except (BadReview, CallFailed) as error:
            if hook.ignores_failures:
                return None
            raise internal(f'failed calling webhook "{hook.name}": {error}') from None

    async def _converted(
        self, request: AdmissionRequest, matched: matching.Matched
    ) -> tuple[JSONObject | None, JSONObject | None]:
        if matched.type is request.type or request.kind is not None:
            return request.object, request.old
        other = self._catalog.find(matched.type.group, matched.type.version, matched.type.plural)
        own = self._catalog.find(request.type.group, request.type.version, request.type.plural)
        assert other is not None
        assert own is not None
        served = own if other.is_storage_version else other
        converted: list[JSONObject | None] = []
        for obj in (request.object, request.old):
            if obj is None:
                converted.append(None)
            else:
                copy = orjson.loads(orjson.dumps(obj))
                converted.append((await served.converter.convert([copy], matched.type.version))[0])
        return converted[0], converted[1]

    async def _post(self, hook: Hook, body: bytes) -> bytes:
        config = hook.spec["clientConfig"]
        authorities = base64.b64decode(config.get("caBundle") or "")
        if config.get("url"):
            target = target_of(config["url"], authorities)
            shown = config["url"]
        else:
            target, shown = self._service(config["service"], authorities, hook.seconds)
        joint = "&" if "?" in target.path else "?"
        query = f"{joint}timeout={hook.seconds}s"
        target = target._replace(path=target.path + query)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": "kube-apiserver-admission",
        }
        try:
            response = await self._caller.request("POST", target, headers, body, hook.seconds)
        except CallFailed as error:
            raise CallFailed(f'failed to call webhook: Post "{shown}{query}": {error}') from None
        if not 200 <= response.status < 300:
            raise CallFailed(f"failed to call webhook: {_status_text(response.status, response.body)}")
        return response.body

    def _service(self, service: JSONObject, authorities: bytes, seconds: int) -> tuple[Target, str]:
        """Where a webhook behind a Service listens."""
        namespace, name = service["namespace"], service["name"]
        port = service.get("port") or 443
        path = service.get("path") or "/"
        host = f"{name}.{namespace}.svc"
        shown = f"https://{host}:{port}{path}"
        item = self._store.get(("", "services"), namespace, name)
        if item is None:
            url = f"{shown}?timeout={seconds}s"
            raise CallFailed(f'failed to call webhook: Post "{url}": service "{name}" not found')
        address = _address(orjson.loads(item.body), port)
        return Target(host, port, path, True, authorities, address), shown


def _address(service: JSONObject, port: int) -> tuple[str, int]:
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or "", port
    return spec.get("clusterIP") or "", port


def _status_text(status: int, body: bytes) -> str:
    try:
        decoded: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        decoded = None
    if isinstance(decoded, dict) and decoded.get("kind") == "Status" and decoded.get("message"):
        return str(decoded["message"])
    if status >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    if status == 404:
        return "the server could not find the requested resource"
    return "the server rejected our request for an unknown reason"


class MutatingWebhooks:
    """The admission plugin of mutating webhooks."""

    def __init__(self, hooks: Webhooks) -> None:
        self._hooks = hooks

    def applies(self, request: AdmissionRequest) -> bool:
        """Whether there is any mutating webhook."""
        return bool(self._hooks.mutating.get()) and not matching.is_exempt(request)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Ask every concerned webhook in turn; then, in the same order, those that want to see what others changed."""
        hooks = self._hooks.mutating.get()
        asked: set[int] = set()
        again: set[int] = set()
        for second in (False, True):
            for position, hook in enumerate(hooks):
                if second and position not in again:
                    continue
                changed = await self._run(hook, request)
                if changed:
                    again |= asked
                    asked.clear()
                if changed is not None and hook.spec.get("reinvocationPolicy") == "IfNeeded":
                    asked.add(position)
            if not again:
                return

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""

    async def _run(self, hook: Hook, request: AdmissionRequest) -> bool | None:
        """Ask one webhook; whether it changed the object, None where it is not concerned."""
        matched = await self._hooks.concerned(hook, request)
        if matched is None:
            return None
        answer = await self._hooks.ask(hook, request, matched, mutating=True)
        if answer is None:
            return False
        request.warnings.extend(answer.warnings)
        request.audit.update({f"{hook.name}/{key}": value for key, value in answer.audit.items()})
        if not answer.allowed:
            raise reviews.denied(hook.name, answer)
        if not answer.patch or request.object is None:
            return False
        changed = orjson.loads(orjson.dumps(reviews.patched(request.object, answer.patch)))
        try:
            changed = self._hooks.decode(request, changed)
        except Failure as failure:
            text = f'admission webhook "{hook.name}" returned a patch whose result cannot be decoded: {failure.message}'
            raise internal(text) from None
        if changed == request.object:
            return False
        request.object = changed
        return True


class ValidatingWebhooks:
    """The admission plugin of validating webhooks."""

    def __init__(self, hooks: Webhooks) -> None:
        self._hooks = hooks

    def applies(self, request: AdmissionRequest) -> bool:
        """Whether there is any validating webhook."""
        return bool(self._hooks.validating.get()) and not matching.is_exempt(request)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Ask every concerned webhook at the same time; the first refusal in order wins."""
        hooks = self._hooks.validating.get()
        results = await asyncio.gather(*(self._run(hook, request) for hook in hooks), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _run(self, hook: Hook, request: AdmissionRequest) -> None:
        matched = await self._hooks.concerned(hook, request)
        if matched is None:
            return
        answer = await self._hooks.ask(hook, request, matched, mutating=False)
        if answer is None:
            return
        request.warnings.extend(answer.warnings)
        request.audit.update({f"{hook.name}/{key}": value for key, value in answer.audit.items()})
        if not answer.allowed:
            raise reviews.denied(hook.name, answer)
