"""The bootstrap signer: `kube-public/cluster-info` carries a signature for each bootstrap token that may sign it.

A joining machine that knows only a token can so verify that the cluster's address and CA are genuine.
"""

import base64
import binascii
import hashlib
import hmac

import orjson

from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent

_MAPS: Kind = ("", "configmaps")
_SECRETS: Kind = ("", "secrets")
_NAMESPACE, _NAME = "kube-public", "cluster-info"
_PREFIX = "jws-kubeconfig-"
_TOKEN_MARK = b'"bootstrap.kubernetes.io/token"'


class BootstrapSigner:
    """Keeps the signatures in step with the tokens."""

    def __init__(self, context: Context) -> None:
        self._store = context.store
        self._writer = Writer(context, "bootstrap-signer")
        self._worker: Worker[str] = Worker("bootstrap-signer", self._process)

    def start(self) -> None:
        """Look once, then follow events."""
        self._store.subscribe(self._changed, _SECRETS, _MAPS)
        self._worker.add(_NAME)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        item = event.item
        concerned = kind == _SECRETS and item.namespace == "kube-system" and _TOKEN_MARK in item.body
        if concerned or (kind == _MAPS and item.namespace == _NAMESPACE and item.name == _NAME):
            self._worker.add(_NAME)

    async def _process(self, name: str) -> None:
        item = self._store.get(_MAPS, _NAMESPACE, _NAME)
        if item is None:
            return
        data: dict[str, str] = orjson.loads(item.body).get("data") or {}
        kubeconfig = data.get("kubeconfig", "")
        wanted = {key: value for key, value in data.items() if not key.startswith(_PREFIX)}
        for token_id, secret in self._tokens():
            wanted[_PREFIX + token_id] = signature(kubeconfig, token_id, secret)
        if wanted != data:

            def edit(obj: JSONObject) -> None:
                obj["data"] = wanted

            await self._writer.change(_MAPS, _NAMESPACE, _NAME, edit)

    def _tokens(self) -> list[tuple[str, str]]:
        found = []
        for item in self._store.list(_SECRETS, "kube-system").items:
            if _TOKEN_MARK not in item.body:
                continue
            data = orjson.loads(item.body).get("data") or {}
            if _text(data, "usage-bootstrap-signing") == "true":
                found.append((_text(data, "token-id"), _text(data, "token-secret")))
        return [(token_id, secret) for token_id, secret in found if token_id and secret]


def _text(data: JSONObject, key: str) -> str:
    try:
        return base64.b64decode(data.get(key) or "").decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def signature(content: str, token_id: str, secret: str) -> str:
    """A detached JWS of a text with HS256, keyed by the secret of the token."""
    header = _encoded(orjson.dumps({"alg": "HS256", "kid": token_id}))
    payload = _encoded(content.encode())
    signed = f"{header}.{payload}".encode()
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return f"{header}..{_encoded(digest)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
