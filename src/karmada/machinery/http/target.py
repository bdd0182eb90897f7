"""What a connection to an API server needs to know: plain data, no I/O."""

from dataclasses import dataclass, field

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Material:
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


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    provide_cluster_info: bool = False
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are to the server."""

    certificate: Material = NOTHING
    key: Material = NOTHING
    token: Material = NOTHING
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: ExecPlugin | None = None
    impersonate_user: str = ""
    impersonate_uid: str = ""
    impersonate_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A server, how to trust it, and who we are there."""

    server: str
    authority: Material = NOTHING
    insecure: bool = False
    server_name: str = ""
    """The name to expect in the server's certificate, when it is not the host of `server`."""
    proxy: str = ""
    identity: Identity = Identity()
    namespace: str = DEFAULT_NAMESPACE
