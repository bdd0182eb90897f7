"""Namespaces get an account `default`, where that is wanted; secrets of type service-account-token get their token."""

import base64
from collections.abc import Callable
from typing import NamedTuple

import orjson

from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent
from karmada.machinery.transport import EventType

_NAMESPACES: Kind = ("", "namespaces")
_ACCOUNTS: Kind = ("", "serviceaccounts")
_SECRETS: Kind = ("", "secrets")
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_TOKEN_MARK = b'"kubernetes.io/service-account-token"'
_NAME = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"


class _Key(NamedTuple):
    kind: Kind
    namespace: str
    name: str


class ServiceAccounts:
    """Makes default accounts and fills token secrets."""

    def __init__(
        self, context: Context, identity: Identity, authority: Callable[[], bytes], *, defaults: bool = True
    ) -> None:
        """Without `defaults` namespaces get no account of their own."""
        self._defaults = defaults
        self._context = context
        self._store = context.store
        self._identity = identity
        self._authority = authority
        self._accounts = Writer(context, "service-account-controller")
        self._tokens = Writer(context, "tokens-controller")
        self._worker: Worker[_Key] = Worker("service-accounts", self._process)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, _NAMESPACES, _ACCOUNTS, _SECRETS)
        for item in self._store.list(_NAMESPACES).items:
            self._worker.add(_Key(_NAMESPACES, "", item.name))
        for item in self._store.list(_SECRETS).items:
            if _TOKEN_MARK in item.body:
                self._worker.add(_Key(_SECRETS, item.namespace, item.name))
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        item = event.item
        if kind == _NAMESPACES and event.type is EventType.ADDED:
            self._worker.add(_Key(_NAMESPACES, "", item.name))
        elif kind == _ACCOUNTS and event.type is EventType.DELETED:
            if item.name == "default":
                self._worker.add(_Key(_NAMESPACES, "", item.namespace))
            self._drop_secrets(item.namespace, item.name)
        elif kind == _SECRETS and event.type is not EventType.DELETED and _TOKEN_MARK in item.body:
            self._worker.add(_Key(_SECRETS, item.namespace, item.name))

    def _drop_secrets(self, namespace: str, account: str) -> None:
        for item in self._store.list(_SECRETS, namespace).items:
            if _TOKEN_MARK in item.body and f'"{account}"'.encode() in item.body:
                self._worker.add(_Key(_SECRETS, namespace, item.name))

    async def _process(self, key: _Key) -> None:
        if key.kind == _NAMESPACES:
            await self._ensure_default(key.name)
        else:
            await self._fill(key.namespace, key.name)

    async def _ensure_default(self, namespace: str) -> None:
        item = self._store.get(_NAMESPACES, "", namespace)
        if not self._defaults or item is None or item.ends:
            return
        if self._store.get(_ACCOUNTS, namespace, "default") is None:
            await self._accounts.create(_ACCOUNTS, namespace, {"metadata": {"name": "default"}})

    async def _fill(self, namespace: str, name: str) -> None:
        item = self._store.get(_SECRETS, namespace, name)
        if item is None:
            return
        secret: JSONObject = orjson.loads(item.body)
        if secret.get("type") != _TOKEN_TYPE:
            return
        annotations = secret["metadata"].get("annotations") or {}
        account = annotations.get(_NAME, "")
        found = self._store.get(_ACCOUNTS, namespace, account)
        if found is None or (annotations.get(_UID) and annotations[_UID] != found.index.uid):
            await self._tokens.delete(_SECRETS, namespace, name, item.index.uid)
            return
        data = secret.get("data") or {}
        uid = found.index.uid
        if annotations.get(_UID) == uid and all(data.get(key) for key in ("token", "ca.crt", "namespace")):
            return

        def edit(obj: JSONObject) -> None:
            current = obj.setdefault("data", {})
            token = self._identity.tokens.mint_legacy(namespace, account, uid, name)
            current.setdefault("token", base64.b64encode(token.encode()).decode())
            current.setdefault("ca.crt", base64.b64encode(self._authority()).decode())
            current.setdefault("namespace", base64.b64encode(namespace.encode()).decode())
            metadata = obj["metadata"]
            metadata["annotations"] = {**(metadata.get("annotations") or {}), _UID: uid}

        await self._tokens.change(_SECRETS, namespace, name, edit)
