"""The component `karmada-apiserver`: from flags to a serving process, until it is stopped."""

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from karmada.api import duration
from karmada.apiserver.controllers.namespaces import KUBERNETES_GRACE
from karmada.apiserver.flags import parse
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.urls import storage_at
from karmada.machinery import logging as logs
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import run, serving

ADMIN = "kubernetes-admin"


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    flags = parse(sys.argv[1:] if argv is None else argv)
    logs.setup(flags.verbosity, flags.logging_format)
    try:
        options = server_options(flags)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {spelled(error)}\n")
        return 1
    return run(lambda: _serve(flags, options))


def server_options(flags: argparse.Namespace) -> ApiServerOptions:
    """The server that the flags describe."""
    folder: Path = flags.data_dir
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys = folder / "pki"
    keys.mkdir(exist_ok=True, mode=0o700)
    serving = None
    if flags.tls_cert_file is not None:
        serving = (flags.tls_cert_file.read_bytes(), flags.tls_private_key_file.read_bytes())
    signing: Path | None = flags.service_account_signing_key_file
    return ApiServerOptions(
        storage=_storage(flags, folder),
        folder=keys,
        controllers=not flags.no_controllers,
        namespace_grace=KUBERNETES_GRACE,
        service_range=flags.service_cluster_ip_range,
        audit=flags.audit_log_path,
        event_seconds=duration.seconds(flags.event_ttl),
        client_ca=flags.client_ca_file.read_bytes() if flags.client_ca_file is not None else b"",
        serving=serving,
        static_tokens=flags.token_auth_file.read_text() if flags.token_auth_file is not None else "",
        proxies=_proxies(flags),
        proxy_client=_proxy_client(flags),
        anonymous=flags.anonymous_auth,
        issuer=flags.service_account_issuer,
        signing_key=signing.read_bytes() if signing is not None else b"",
        token_keys=[path.read_bytes() for path in flags.service_account_key_file],
        key_prefix=flags.etcd_prefix,
    )


def _proxies(flags: argparse.Namespace) -> tuple[bytes, Sequence[str]] | None:
    if flags.requestheader_client_ca_file is None:
        return None
    names = [name.strip() for name in flags.requestheader_allowed_names.split(",") if name.strip()]
    return flags.requestheader_client_ca_file.read_bytes(), names


def _proxy_client(flags: argparse.Namespace) -> tuple[str, str] | None:
    if flags.proxy_client_cert_file is None:
        return None
    return str(flags.proxy_client_cert_file), str(flags.proxy_client_key_file)


def _storage(flags: argparse.Namespace, folder: Path) -> Storage:
    if flags.etcd_servers:
        return etcd_storage(flags)
    return storage_at(flags.storage or f"sqlite://{(folder / 'karmada.db').absolute()}")


def etcd_storage(flags: argparse.Namespace) -> Storage:
    """The etcd that `--etcd-*` flags name."""
    from karmada.apiserver.storage.etcd import EtcdStorage
    from karmada.apiserver.storage.etcd.client import Tls

    urls = [urlsplit(url if "//" in url else f"//{url}") for url in flags.etcd_servers.split(",")]
    endpoints = tuple(url.netloc for url in urls)
    tls = None
    if any(url.scheme == "https" for url in urls):
        files = (flags.etcd_cafile, flags.etcd_certfile, flags.etcd_keyfile)
        tls = Tls(*(path.read_bytes() if path is not None else None for path in files))
    return EtcdStorage(endpoints, flags.etcd_prefix, tls)


async def _serve(flags: argparse.Namespace, options: ApiServerOptions) -> None:
    async with ApiServer(options) as server:
        hosts = [host for host in (flags.external_hostname, flags.bind_address) if host not in ("", "0.0.0.0", "::")]
        with serving(flags.bind_address, flags.secure_port, "--secure-port"):
            port = await server.listen(flags.bind_address, flags.secure_port, hosts)
        _write_kubeconfig(flags, options, server, port)
        gc.collect()
        gc.freeze()
        logging.getLogger(__name__).info("serving on https://%s:%d", flags.bind_address, port)
        await asyncio.Event().wait()


def _write_kubeconfig(flags: argparse.Namespace, options: ApiServerOptions, server: ApiServer, port: int) -> None:
    from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig

    host = flags.external_hostname or ("127.0.0.1" if flags.bind_address in ("0.0.0.0", "::") else flags.bind_address)
    authority = server.identity.authority
    certificate, key = authority.issue_client(ADMIN, ["system:masters"])
    trusted = options.client_ca if options.serving is not None and options.client_ca else authority.certificate_pem
    config = kubeconfig(f"https://{host}:{port}", trusted, user=ADMIN, certificate=certificate, key=key)
    write_kubeconfig(flags.kubeconfig_out or flags.data_dir / "admin.kubeconfig", config)


if __name__ == "__main__":
    sys.exit(main())
