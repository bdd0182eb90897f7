"""How the server's own controllers write: through the pipeline, with admission, as the controller manager."""

from collections.abc import Callable

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.create import create_object
from karmada.apiserver.requests.delete import Deleted, delete_object
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.requests.options import DeleteOptions, WriteOptions
from karmada.apiserver.requests.update import Change, Part, changed
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import Kind
from karmada.machinery.httpserver.failure import Failure

AGENT = "kube-controller-manager"
Edit = Callable[[JSONObject], None]
"""Changes an object in place, in another thread if that is large: it looks at nothing else that changes."""


def controller(name: str) -> UserInfo:
    """The identity of a controller; part of the server, it may do everything."""
    return UserInfo(
        f"system:serviceaccount:kube-system:{name}",
        ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:masters", "system:authenticated"),
    )


class Writer:
    """Writes objects as one controller."""

    def __init__(self, context: Context, name: str, agent: str = AGENT) -> None:
        self._context = context
        self._user = controller(name)
        self._agent = agent

    def _call(self, verb: str, kind: Kind, namespace: str, name: str, subresource: str = "") -> Call | None:
        served: Served | None = self._context.catalog.stored(kind)
        if served is None:
            return None
        return Call(verb, served, self._user, namespace, name, subresource, agent=self._agent)

    async def create(self, kind: Kind, namespace: str, obj: JSONObject) -> bool:
        """Create an object; False when it exists already or its namespace is gone."""
        call = self._call("create", kind, namespace, "")
        if call is None:
            return False
        from karmada.apiserver.requests.decoding import conform

        obj.setdefault("apiVersion", call.served.api_version)
        obj.setdefault("kind", call.served.kind)
        conform(call, obj, "Ignore")
        try:
            await create_object(self._context, call, obj, WriteOptions())
        except Failure as failure:
            if failure.code in (409, 404) or "being terminated" in failure.message:
                return False
            raise
        return True

    async def replace(self, kind: Kind, namespace: str, obj: JSONObject) -> None:
        """Make an object what is given, whatever it is now; nothing happens when it is gone."""
        await self.change(kind, namespace, obj["metadata"]["name"], lambda current: current.update(obj))

    async def delete(
        self, kind: Kind, namespace: str, name: str, uid: str = "", policy: str = "Background"
    ) -> Deleted | None:
        """Delete an object; None when it is gone or another one by now."""
        call = self._call("delete", kind, namespace, name)
        if call is None:
            return None
        try:
            return await delete_object(self._context, call, DeleteOptions(policy=policy, uid=uid or None))
        except Failure as failure:
            if failure.code in (404, 409):
                return None
            raise

    async def change(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        edit: Edit,
        subresource: str = "",
    ) -> bytes | None:
        """Change an object in place; None when it is gone."""
        call = self._call("update", kind, namespace, name, subresource)
        if call is None:
            return None

        def build(current: JSONObject) -> JSONObject:
            edit(current)
            return current

        part = {"status": Part.STATUS, "": Part.MAIN}.get(subresource, Part.OTHER)
        try:
            return await changed(self._context, Change(call, WriteOptions(), build, part))
        except Failure as failure:
            if failure.code == 404:
                return None
            raise
