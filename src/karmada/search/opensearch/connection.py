"""One OpenSearch as a registry names it: addresses that are tried in turn, credentials from a Secret.

The Secret holds `username` and `password`, and may hold `caBundle` for an OpenSearch whose certificate only its owner
trusts. It is read again whenever something failed, so it may be corrected in place. What is wrong is said as `Trouble`,
never with a secret in it.
"""

from urllib.parse import urlsplit

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Forbidden, NotFound, TooManyRequests, Unauthorized
from karmada.machinery.http.target import NOTHING, Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.limits import printable
from karmada.membership import objects
from karmada.search.opensearch.model import BackendRef

AGENT = "karmada-search"
MESSAGE = 300
_ADDRESSES = "spec.backendStore.openSearch.addresses"
_SECRET = "spec.backendStore.openSearch.secretRef"


class Trouble(Exception):
    """Why nothing can be sent now: a reason for a condition, and a message with the remedy."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = printable(message, MESSAGE)


class Refused(Exception):
    """A request is not understood or too large: trying it again as it is helps nobody."""


class Connection:
    """Sends requests to one OpenSearch."""

    def __init__(self, ref: BackendRef, hub: Client) -> None:
        self._ref = ref
        self._hub = hub
        self._transports: list[HttpTransport] = []

    async def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The answer of the first address that gives one; raises `Trouble` or `Refused`."""
        if not self._transports:
            self._transports = await self._opened()
        failure: ApiError | None = None
        for transport in tuple(self._transports):
            try:
                return await transport.raw(method, path, body)
            except (Unauthorized, Forbidden) as error:
                await self.close()
                raise self._denied(error) from None
            except ApiError as error:
                if not error.transient:
                    raise Refused(str(error)) from None
                failure = error
                self._transports.append(self._transports.pop(0))  # the next request begins with another one
        await self.close()
        reason = "OpenSearchBusy" if isinstance(failure, TooManyRequests) else "OpenSearchUnavailable"
        raise Trouble(reason, f"OpenSearch does not take requests, changes wait: {failure}")

    async def close(self) -> None:
        """Close all connections; the next request reads the Secret again."""
        transports, self._transports = self._transports, []
        for transport in transports:
            await transport.close()

    async def _opened(self) -> list[HttpTransport]:
        if not self._ref.addresses:
            raise Trouble("InvalidAddress", f"{_ADDRESSES} is empty: name one, such as https://opensearch:9200")
        identity, authority = await self._credentials()
        found = []
        for position, address in enumerate(self._ref.addresses):
            where = f"{_ADDRESSES}[{position}]"
            try:
                if "@" in urlsplit(address).netloc:
                    raise Trouble("InvalidAddress", f"{where} holds credentials: put them into the Secret of {_SECRET}")
                target = Target(address.rstrip("/"), authority, identity=identity)
                found.append(HttpTransport(target, agent=AGENT))
            except ValueError as error:
                raise Trouble("InvalidAddress", f"{where}: {error}") from None
        return found

    async def _credentials(self) -> tuple[Identity, Material]:
        if not self._ref.name:
            return Identity(), NOTHING
        where = f"secret {self._ref.namespace}/{self._ref.name}"
        try:
            data = objects.decoded(await self._hub.resource(objects.SECRETS).get(self._ref.name, self._ref.namespace))
            username, password = data.get("username", b"").decode(), data.get("password", b"").decode()
            authority = Material(data["caBundle"]) if data.get("caBundle") else NOTHING
        except NotFound:
            raise Trouble("SecretNotFound", f"the {where} of {_SECRET} does not exist: create it") from None
        except ApiError as error:
            raise Trouble("SecretNotFound", f"the {where} of {_SECRET} cannot be read: {error}") from None
        except ValueError:
            raise Trouble("InvalidSecret", f"the {where} of {_SECRET} holds what is no text") from None
        if not username or not password:
            raise Trouble("InvalidSecret", f"the {where} of {_SECRET} has no data.username or no data.password")
        return Identity(username=username, password=password), authority

    def _denied(self, error: ApiError) -> Trouble:
        if not self._ref.name:
            return Trouble("WrongCredentials", f"OpenSearch wants credentials: name their Secret in {_SECRET}")
        remedy = "correct its username and password, or their rights to the indices kubernetes-*"
        secret = f"{self._ref.namespace}/{self._ref.name}"
        return Trouble("WrongCredentials", f"OpenSearch answers {error.code} to those of secret {secret}: {remedy}")
