"""Conversion webhooks: objects between the versions of a CRD by asking the CRD's author."""

import base64
from collections.abc import Callable

import orjson

from karmada.apiserver.outgoing import Caller, CallFailed, Target, target_of
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.services import Address, Unreachable
from karmada.machinery.httpserver.failure import Failure

_SECONDS = 30.0

Locate = Callable[[str, str, int], Address]
"""Where a service port is reached; raises `Unreachable`."""


class WebhookConverter:
    """Converts by a webhook; what it may not change is put back."""

    def __init__(self, crd: JSONObject, caller: Caller, locate: Locate, uid: Callable[[], str]) -> None:
        self._group = crd["spec"]["group"]
        webhook = crd["spec"]["conversion"]["webhook"]
        self._config: JSONObject = webhook["clientConfig"]
        self._versions = [v for v in webhook.get("conversionReviewVersions") or ("v1",) if v in ("v1", "v1beta1")]
        self._caller = caller
        self._locate = locate
        self._uid = uid

    async def convert(self, objects: list[JSONObject], version: str) -> list[JSONObject]:
        """The objects in another version; those that are in it already stay as they are."""
        wanted = f"{self._group}/{version}"
        foreign = [obj for obj in objects if obj.get("apiVersion") != wanted]
        if not foreign:
            return objects
        converted = iter(await self._ask(foreign, wanted))
        return [obj if obj.get("apiVersion") == wanted else _checked(obj, next(converted), wanted) for obj in objects]

    async def _ask(self, objects: list[JSONObject], wanted: str) -> list[JSONObject]:
        uid = self._uid()
        kind = objects[0].get("kind", "")
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{self._versions[0] if self._versions else 'v1'}",
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        }
        try:
            target = self._target()
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            answer = await self._caller.request("POST", target, headers, orjson.dumps(review), _SECONDS)
            if not 200 <= answer.status < 300:
                raise CallFailed(f"the webhook answered {answer.status}")
            response = orjson.loads(answer.body).get("response") or {}
        except (CallFailed, Unreachable, ValueError) as error:
            raise _failed(kind, objects, f"failed: {error}") from None
        result = response.get("result") or {}
        if result.get("status") != "Success":
            raise _failed(kind, objects, f"failed: {result.get('message') or result}")
        converted = response.get("convertedObjects") or []
        if response.get("uid") != uid or len(converted) != len(objects):
            text = f"returned invalid response: expected {len(objects)} converted objects, got {len(converted)}"
            raise _failed(kind, objects, text)
        return list(converted)

    def _target(self) -> Target:
        authorities = base64.b64decode(self._config.get("caBundle") or "")
        if self._config.get("url"):
            return target_of(self._config["url"], authorities)
        service = self._config["service"]
        namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
        address = self._locate(namespace, name, port)
        path = service.get("path") or "/"
        return Target(f"{name}.{namespace}.svc", port, path, True, authorities, (address.host, address.port))


def _checked(old: JSONObject, new: JSONObject, wanted: str) -> JSONObject:
    if new.get("apiVersion") != wanted or new.get("kind") != old.get("kind"):
        text = f"returned invalid converted object: {new.get('apiVersion')}, Kind={new.get('kind')}"
        raise _failed(str(old.get("kind", "")), [old], text)
    before, after = old.get("metadata") or {}, dict(new.get("metadata") or {})
    metadata = {**before, "labels": after.get("labels") or {}, "annotations": after.get("annotations") or {}}
    for key in ("labels", "annotations"):
        if not metadata[key]:
            del metadata[key]
    return {**new, "metadata": metadata}


def _failed(kind: str, objects: list[JSONObject], text: str) -> Failure:
    source = objects[0].get("apiVersion", "")
    message = f"conversion webhook for {source}, Kind={kind} {text}"
    return Failure(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})
