"""The stock servers, each with certificates of its own in a folder of its own.

    async with Etcd(folder / "etcd") as etcd, KubeApiServer("member1", folder / "member1", etcd) as server:
        server.kubeconfig  # of an administrator
        await server.client().resource(...)

Several API servers share an etcd: each keeps its keys under a prefix. `kill`, `start` and `stop` break and mend them.
"""

import asyncio
import signal
import ssl
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.auth.pki import LEAF_DAYS, Authority, ensure_authority, private_pem, server_names, write_file
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.testing.stage.daemon import Daemon, free_port
from karmada.testing.stage.programs import program

HOST = "127.0.0.1"
PATIENCE = 180.0
"""Seconds for a stock server to become ready on a busy machine."""
PAUSE = 0.1
SERVICES = "10.96.0.0/16"


class StockServer(ABC):
    """A daemon that is ready when it says so."""

    daemon: Daemon

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.daemon.end()

    async def start(self) -> None:
        """Start it, and wait until it is ready."""
        await self.daemon.start()
        try:
            async with asyncio.timeout(PATIENCE):
                while not await self.ready():
                    self.daemon.check()
                    await asyncio.sleep(PAUSE)
        except BaseException:
            await self.daemon.end()
            raise

    async def stop(self) -> None:
        """End it in good order."""
        await self.daemon.end()

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        await self.daemon.end(signal.SIGKILL)

    @abstractmethod
    async def ready(self) -> bool:
        """Whether it serves."""


class Etcd(StockServer):
    """One etcd, reachable with a client certificate only. Without `durable` it leaves syncing to the kernel."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder, self.data = folder, folder / "data"
        self.port = free_port()
        self.url, self.peer = f"https://{HOST}:{self.port}", f"http://{HOST}:{free_port()}"
        authority = Authority.create("etcd-ca")
        write_file(folder / "ca.crt", authority.certificate_pem)
        write_pair(folder, "server", authority.issue_server("etcd", server_names([HOST, "localhost"])))
        write_pair(folder, "client", authority.issue_client("kube-apiserver-etcd-client"))
        self._health = free_port()
        self.daemon = Daemon(
            "etcd",
            [
                program("etcd"),
                f"--data-dir={self.data}",
                f"--listen-client-urls={self.url}",
                f"--advertise-client-urls={self.url}",
                f"--listen-peer-urls={self.peer}",
                f"--initial-advertise-peer-urls={self.peer}",
                f"--initial-cluster=default={self.peer}",
                f"--listen-metrics-urls=http://{HOST}:{self._health}",
                f"--cert-file={folder}/server.crt",
                f"--key-file={folder}/server.key",
                f"--trusted-ca-file={folder}/ca.crt",
                "--client-cert-auth=true",
                "--log-level=warn",
                *([] if durable else ["--unsafe-no-fsync"]),
            ],
            folder / "etcd.log",
        )

    @property
    def flags(self) -> list[str]:
        """How an API server reaches it."""
        return [
            f"--etcd-servers={self.url}",
            f"--etcd-cafile={self.folder}/ca.crt",
            f"--etcd-certfile={self.folder}/client.crt",
            f"--etcd-keyfile={self.folder}/client.key",
        ]

    async def ready(self) -> bool:
        """Whether it has a leader."""
        return await answers(self._health, "/readyz")


class KubeApiServer(StockServer):
    """A stock API server, with an administrator's kubeconfig in its folder; keys that are there already are kept."""

    def __init__(self, name: str, folder: Path, etcd: Etcd, flags: Sequence[str] = ()) -> None:
        self.name = name
        self.folder = folder
        self.prefix = f"/registry-{name}"
        self.port = free_port()
        self.endpoint = f"https://{HOST}:{self.port}"
        self.authority = ensure_authority(folder, f"{name}-ca")
        self.front_authority = Authority.create(f"{name}-front-proxy-ca")
        self.kubeconfig = folder / "kubeconfig"
        self._make_files()
        self._flags = flags
        self.use(etcd)

    def use(self, etcd: Etcd) -> None:
        """Keep its objects there from the next start on."""
        log = self.folder / "kube-apiserver.log"
        self.daemon = Daemon(f"kube-apiserver of {self.name}", self._command(etcd, self._flags), log)

    def client(self, agent: str = "stage") -> Client:
        """A client with an administrator's rights; close it after use."""
        return Client(HttpTransport(load([self.kubeconfig]).target(), agent=agent))

    def access(self, path: Path, user: str, groups: Sequence[str] = (), cluster: str = "karmada") -> Path:
        """Write the kubeconfig of a user; its path."""
        certificate, key = self.authority.issue_client(user, groups)
        made = kubeconfig(
            self.endpoint, self.authority.certificate_pem, cluster=cluster, user=user, certificate=certificate, key=key
        )
        write_kubeconfig(path, made)
        return path

    def rotatable_access(self, path: Path, user: str, seconds: int = LEAF_DAYS * 86400, endpoint: str = "") -> Path:
        """The same with certificate and key in files beside it, written anew each time it is called.

        `endpoint` is a way to this server that is not its own address.
        """
        write_pair(path.parent, path.stem, self.authority.issue_client(user, seconds=seconds))
        made = kubeconfig(endpoint or self.endpoint, self.authority.certificate_pem, user=user)
        files = {"client-certificate": f"{path.stem}.crt", "client-key": f"{path.stem}.key"}
        made["users"][0]["user"] = files
        write_kubeconfig(path, made)
        return path

    def renew_serving(self) -> None:
        """Another serving certificate from the same authority; the server picks it up by itself."""
        hosts = server_names([HOST, "localhost", "kubernetes", "kubernetes.default.svc"])
        write_pair(self.folder, "server", self.authority.issue_server("kube-apiserver", hosts))

    async def ready(self) -> bool:
        """Whether it says that it is."""
        client = self.client()
        try:
            async with asyncio.timeout(10):
                await client.transport.raw("GET", "/readyz")
        except (ApiError, OSError, TimeoutError):
            return False
        finally:
            await client.close()
        return True

    def _make_files(self) -> None:
        write_file(self.folder / "front-proxy-ca.crt", self.front_authority.certificate_pem)
        write_pair(self.folder, "front-proxy", self.front_authority.issue_client("front-proxy-client"))
        account = self.folder / "service-account.key"
        if not account.exists():
            write_file(account, private_pem(rsa.generate_private_key(65537, 2048)), 0o600)
        signing = serialization.load_pem_private_key(account.read_bytes(), None)
        public = signing.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_file(self.folder / "service-account.pub", public)
        self.renew_serving()
        self.access(self.kubeconfig, "admin", ["system:masters"], self.name)

    def _command(self, etcd: Etcd, flags: Sequence[str]) -> list[str | Path]:
        folder = self.folder
        return [
            program("kube-apiserver"),
            *etcd.flags,
            f"--etcd-prefix={self.prefix}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={folder}/server.crt",
            f"--tls-private-key-file={folder}/server.key",
            f"--client-ca-file={folder}/ca.crt",
            "--authorization-mode=Node,RBAC",
            "--enable-bootstrap-token-auth=true",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={folder}/service-account.pub",
            f"--service-account-signing-key-file={folder}/service-account.key",
            f"--service-cluster-ip-range={SERVICES}",
            f"--proxy-client-cert-file={folder}/front-proxy.crt",
            f"--proxy-client-key-file={folder}/front-proxy.key",
            f"--requestheader-client-ca-file={folder}/front-proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            # Loopback addresses are no endpoints of a Service.
            "--endpoint-reconciler-type=none",
            "--shutdown-delay-duration=0s",
            *flags,
        ]


class KubeControllerManager(StockServer):
    """The stock controllers of an API server; by default those that a control plane without pods needs."""

    FOR_A_HUB = (
        "namespace-controller,garbage-collector-controller,serviceaccount-token-controller,"
        "ttl-after-finished-controller,bootstrap-signer-controller,token-cleaner-controller,"
        "certificatesigningrequest-cleaner-controller,certificatesigningrequest-signing-controller,"
        "clusterrole-aggregation-controller"
    )

    def __init__(self, server: KubeApiServer, controllers: str = FOR_A_HUB) -> None:
        folder = server.folder
        self._port = free_port()
        access = server.access(
            folder / "kube-controller-manager.kubeconfig", "system:kube-controller-manager", cluster=server.name
        )
        self.daemon = Daemon(
            f"kube-controller-manager of {server.name}",
            [
                program("kube-controller-manager"),
                f"--kubeconfig={access}",
                f"--authentication-kubeconfig={access}",
                f"--authorization-kubeconfig={access}",
                f"--bind-address={HOST}",
                f"--secure-port={self._port}",
                f"--cert-dir={folder}/kube-controller-manager",
                f"--client-ca-file={folder}/ca.crt",
                f"--cluster-name={server.name}",
                f"--cluster-signing-cert-file={folder}/ca.crt",
                f"--cluster-signing-key-file={folder}/ca.key",
                f"--controllers={controllers}",
                "--leader-elect=false",
                f"--root-ca-file={folder}/ca.crt",
                f"--service-account-private-key-file={folder}/service-account.key",
                f"--service-cluster-ip-range={SERVICES}",
                "--use-service-account-credentials=true",
            ],
            folder / "kube-controller-manager.log",
        )

    async def ready(self) -> bool:
        """Whether its controllers have started."""
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        return await answers(self._port, "/healthz", unverified)


async def answers(port: int, path: str, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a page on loopback says 200."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, ssl=tls)
        writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
    except OSError:
        return False
    return b" 200 " in answer.partition(b"\r\n")[0]


def write_pair(folder: Path, name: str, pair: tuple[bytes, bytes]) -> None:
    """A certificate and its key; the key first, so that nobody sees a new certificate with an old key for long."""
    certificate, key = pair
    write_file(folder / f"{name}.key", key, 0o600)
    write_file(folder / f"{name}.crt", certificate)
