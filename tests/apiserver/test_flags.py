"""The command line of karmada-apiserver: existing manifests start it unchanged, mistakes are explained."""

import pytest

from karmada.apiserver.flags import parse
from karmada.apiserver.main import main, server_options
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage

DOCUMENTED = [
    "--allow-privileged=true",
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=/etc/karmada/pki/ca.crt",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--etcd-cafile=/etc/karmada/pki/etcd-ca.crt",
    "--etcd-certfile=/etc/karmada/pki/etcd-client.crt",
    "--etcd-keyfile=/etc/karmada/pki/etcd-client.key",
    "--etcd-servers=https://etcd-0.etcd.karmada-system.svc:2379",
    "--bind-address=0.0.0.0",
    "--secure-port=5443",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--tls-cert-file=/etc/karmada/pki/apiserver.crt",
    "--tls-private-key-file=/etc/karmada/pki/apiserver.key",
]


def test_every_documented_flag_is_accepted():
    flags = parse([*DOCUMENTED, "--v=4", "--runtime-config=", "--feature-gates=A=true", "--feature-gates=B=false"])
    assert (flags.secure_port, flags.bind_address) == (5443, "0.0.0.0")
    assert flags.etcd_servers == "https://etcd-0.etcd.karmada-system.svc:2379"


@pytest.mark.parametrize(
    ("arguments", "storage"),
    [([], SqliteStorage), (["--storage", "memory:"], MemoryStorage)],
    ids=["default", "memory"],
)
def test_where_objects_live(tmp_path, arguments, storage):
    options = server_options(parse(["--data-dir", str(tmp_path / "data"), *arguments]))
    assert isinstance(options.storage, storage)
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--storage=memory:", "--etcd-servers=http://e:2379"], "exclude each other"),
        (["--tls-cert-file=x"], "must be given together"),
        (["--anonymous-auth=perhaps"], "neither true nor false"),
        (["--nosuch"], "unrecognized arguments: --nosuch"),
    ],
    ids=["two storages", "half a certificate", "no boolean", "unknown"],
)
def test_mistakes_on_the_command_line_are_explained(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_storage_that_is_none_ends_with_a_clear_error(tmp_path, capsys):
    assert main(["--data-dir", str(tmp_path), "--storage", "bogus:"]) == 1
    assert "names no storage; use memory:, sqlite:///path/to/file or etcd://" in capsys.readouterr().err
