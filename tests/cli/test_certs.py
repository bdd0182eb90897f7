"""Certificates of an installation: listed with their ends, and renewed from the authority that issued them."""

import base64
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509

from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.apiserver.auth.pki import Authority
from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.install.certificates import certificates
from karmada.install.manifests import Component, Installation, components, foundation
from karmada.install.pki import Pki
from karmada.install.renewal import held, renewed
from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec

SPACE = "karmada-system"
DAY = 86400
TYPES = {
    "Namespace": GroupVersionResource("", "v1", "namespaces"),
    "Secret": GroupVersionResource("", "v1", "secrets"),
    "Service": GroupVersionResource("", "v1", "services"),
    "StatefulSet": GroupVersionResource("apps", "v1", "statefulsets"),
    "Deployment": GroupVersionResource("apps", "v1", "deployments"),
    "NetworkPolicy": GroupVersionResource("networking.k8s.io", "v1", "networkpolicies"),
    "PodDisruptionBudget": GroupVersionResource("policy", "v1", "poddisruptionbudgets"),
}


class Site(NamedTuple):
    """A host cluster with an installation whose certificates are good for ten days."""

    member: Member
    folder: Path
    authority: Authority

    async def run(self, *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        session = Session(out=out, err=err, stdin=io.StringIO(), environment={"HOME": str(self.folder)})
        code = await execute(["certs", *words, "--kubeconfig", str(self.folder / "host.config")], session)
        return code, out.getvalue(), err.getvalue()

    async def secrets(self) -> dict[str, dict[str, Any]]:
        listed = await self.member.inside.resource(TYPES["Secret"]).list()
        return {one["metadata"]["name"]: one for one in listed.items}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    authority = Authority.create("karmada")
    pki = Pki(authority, "cluster.local", ["10.0.0.1"], ["karmada-webhook"], 10 * DAY)
    parts = [Component("karmada-webhook", port=8443, serves=True), Component("karmada-scheduler")]
    wanted = Installation(SPACE, components=parts, secrets=pki.secrets(SPACE), storage="emptyDir")
    (tmp_path / "ca.crt").write_bytes(authority.certificate_pem)
    (tmp_path / "ca.key").write_bytes(authority.key_pem)
    async with Member(MemberSpec("host")) as member:
        await member.listen()
        write_kubeconfig(tmp_path / "host.config", member.kubeconfig)
        for tree in [*foundation(wanted), *components(wanted, called=True), *components(wanted, called=False)]:
            await member.inside.resource(TYPES[tree["kind"]]).create(tree)
        yield Site(member, tmp_path, authority)


def ends(secrets: dict[str, dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(one.secret, one.key): one.expires for secret in secrets.values() for one in held(secret)}


async def test_check_lists_every_certificate_and_fails_when_one_ends_soon(site: Site) -> None:
    code, out, err = await site.run("check")
    assert code == 1
    assert "end within 30 days: run karmadactl certs renew" in err
    lines = {tuple(line.split()[:2]): line.split() for line in out.splitlines()}
    assert lines["karmada-apiserver-cert", "tls.crt"][-1] == "9"
    assert lines["karmada-scheduler-config", "karmada.config"][2] == "CN=system:karmada:scheduler"
    assert int(lines["karmada-ca", "tls.crt"][-1]) > 3000
    code, _, err = await site.run("check", "--within", "24h")
    assert (code, err) == (0, "")


async def test_renewed_certificates_have_the_same_names_and_rights_and_their_users_are_restarted(site: Site) -> None:
    before = await site.secrets()
    code, out, err = await site.run("renew", "--karmada-pki", str(site.folder), "--karmada-data", str(site.folder))
    assert code == 0, err
    after = await site.secrets()
    old, new = ends(before), ends(after)
    assert old.keys() == new.keys()
    assert [key for key in new if new[key] <= old[key]] == [("karmada-ca", "tls.crt")]
    for name, secret in after.items():
        for was, now in zip(held(before[name]), held(secret), strict=True):
            assert now.certificate.subject == was.certificate.subject
            assert parts(now.certificate) == parts(was.certificate)
            if name != "karmada-ca":
                now.certificate.verify_directly_issued_by(site.authority.certificate)
                assert now.certificate.public_key() != was.certificate.public_key()
    restarted = [line for line in out.splitlines() if line.endswith(" restarted")]
    assert restarted[0] == "statefulset/karmada-apiserver restarted"
    assert sorted(restarted[1:]) == [
        "deployment/karmada-scheduler restarted",
        "deployment/karmada-webhook restarted",
    ]
    assert (await site.run("check"))[0] == 0


def parts(certificate: x509.Certificate) -> list[bytes]:
    kinds = (x509.SubjectAlternativeName, x509.ExtendedKeyUsage, x509.KeyUsage, x509.BasicConstraints)
    return [
        extension.value.public_bytes() for extension in certificate.extensions if isinstance(extension.value, kinds)
    ]


async def test_the_wrong_authority_renews_nothing(site: Site, tmp_path: Path) -> None:
    other = Authority.create("karmada")
    (tmp_path / "ca.crt").write_bytes(other.certificate_pem)
    (tmp_path / "ca.key").write_bytes(other.key_pem)
    before = await site.secrets()
    code, _, err = await site.run("renew", "--karmada-pki", str(tmp_path))
    assert code == 1
    assert "no certificate in namespace karmada-system was issued by" in err
    assert await site.secrets() == before
    (tmp_path / "ca.crt").write_bytes(site.authority.certificate_pem)
    code, _, err = await site.run("renew", "--karmada-pki", str(tmp_path))
    assert code == 1
    assert "cannot be used: the CA key is not the key of the CA certificate; name its folder with --karmada-pki" in err
    assert await site.secrets() == before
    leaf, key = site.authority.issue_client("somebody")
    (tmp_path / "ca.crt").write_bytes(leaf)
    (tmp_path / "ca.key").write_bytes(key)
    code, _, err = await site.run("renew", "--karmada-pki", str(tmp_path))
    assert code == 1
    assert "the certificate is not one of an authority" in err
    assert await site.secrets() == before
    code, _, err = await site.run("renew", "--karmada-pki", str(tmp_path / "nowhere"))
    assert code == 1
    assert "name its folder with --karmada-pki" in err


async def test_a_secret_that_is_not_there_is_named_before_anything_is_renewed(site: Site) -> None:
    before = await site.secrets()
    for words in (["check"], ["renew", "--karmada-pki", str(site.folder)]):
        code, out, err = await site.run(*words, "karmada-webhook-cert", "karmada-webhok-cert")
        assert (code, out) == (1, "")
        assert "there is no Secret karmada-webhok-cert in namespace karmada-system" in err
    assert await site.secrets() == before


def test_secrets_of_the_chart_are_renewed_by_the_authority_that_issued_each() -> None:
    secrets, _ = certificates(SPACE, "cluster.local", ["etcd-0"])
    named = {secret["metadata"]["name"]: secret for secret in secrets}
    pair = named["karmada-ca-key"]["data"]
    authority = Authority.load(base64.b64decode(pair["tls.crt"]), base64.b64decode(pair["tls.key"]))
    changed = {name for name, secret in named.items() if renewed(secret, authority, DAY)}
    assert changed == {name for name in named if name.endswith(("-config", "-cert"))} - {
        "karmada-dashboard-config",  # It has no credential.
        "karmada-etcd-cert",
        "karmada-etcd-client-cert",
        "karmada-front-proxy-cert",
    }
    config = json.loads(base64.b64decode(renewed(named["karmada-scheduler-config"], authority, DAY)["karmada.config"]))
    assert (
        config["clusters"]
        == json.loads(base64.b64decode(named["karmada-scheduler-config"]["data"]["karmada.config"]))["clusters"]
    )
