"""What a connection to an API server needs to know: plain data, no I/O.

Named tuples, not dataclasses: these are made in a tenth of the time when the command line tool starts.
"""

from typing import NamedTuple

DEFAULT_NAMESPACE = "default"


class Material(NamedTuple):
    """Something that is given in place or in a file; a file may change while it is used."""

    data: bytes = b""
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.path)

    def read(self) -> bytes:
        """The content now."""
        if self.data or not self.path:
            return self.data
        with open(self.path, "rb") as file:
            return file.read()

    def __repr__(self) -> str:
        return f"Material(path={self.path!r})" if self.path else "Material([hidden])" if self.data else "Material()"


NOTHING = Material()


class ExecPlugin(NamedTuple):
    """A program that prints credentials."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    provide_cluster_info: bool = False
    install_hint: str = ""


class Identity(NamedTuple):
    """Who we are to the server."""

    certificate: Material = NOTHING
    key: Material = NOTHING
    token: Material = NOTHING
    username: str = ""
    password: str = ""
    plugin: ExecPlugin | None = None
    impersonate_user: str = ""
    impersonate_uid: str = ""
    impersonate_groups: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Identity({self.username or self.impersonate_user or 'unnamed'})"


class Target(NamedTuple):
    """A server, how to trust it, and who we are there."""

    server: str
    authority: Material = NOTHING
    insecure: bool = False
    server_name: str = ""
    """The name to expect in the server's certificate, when it is not the host of `server`."""
    proxy: str = ""
    proxy_headers: tuple[tuple[str, str], ...] = ()
    """Sent to the proxy, not to the server."""
    identity: Identity = Identity()
    namespace: str = DEFAULT_NAMESPACE
