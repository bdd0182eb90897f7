"""karmada-webhook asked by an API server over TLS: what it completes, refuses and converts arrives."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karmada.api.crd.definition import definitions, with_conversion_webhook
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.auth.pki import server_names
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import GroupVersionResource
from karmada.webhook.configurations import by_url, configurations
from karmada.webhook.lookup import ClientLookup
from karmada.webhook.main import context_of, parser
from karmada.webhook.reviews import Settings
from karmada.webhook.server import WebhookServer

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
OLD_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha1", "resourcebindings")
NEW_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
NEEDED = ("propagationpolicies.policy.karmada.io", "resourcebindings.work.karmada.io")


class Served(NamedTuple):
    """An API server that asks a webhook server."""

    client: Client
    webhook: WebhookServer


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with ApiServer() as server:
        authority = server.identity.authority
        certificate, key = authority.issue_server("karmada-webhook", server_names(("127.0.0.1",)))
        (tmp_path / "tls.crt").write_bytes(certificate)
        (tmp_path / "tls.key").write_bytes(key)
        client = Client(server.direct(ADMIN))
        lookup = ClientLookup()
        lookup.client = client
        webhook = WebhookServer(Settings(lookup, DEFAULTS))
        tls = context_of(parser().parse(["--cert-dir", str(tmp_path)]))
        port = await webhook.listen("127.0.0.1", 0, tls)
        config = by_url(f"https://127.0.0.1:{port}", base64.b64encode(authority.certificate_pem).decode())
        for wanted in definitions():
            if wanted["metadata"]["name"] in NEEDED:
                await client.resource(CRDS).create(with_conversion_webhook(wanted, config("/convert")))
        for wanted in configurations(config):
            plural = wanted["kind"].lower() + "s"
            type_ = GroupVersionResource("admissionregistration.k8s.io", "v1", plural)
            await client.resource(type_).create(wanted)
        yield Served(client, webhook)
        await webhook.close()


def policy(**spec: Any) -> dict[str, Any]:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]
    return {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"resourceSelectors": selectors, "placement": {}} | spec,
    }


async def test_what_the_webhook_completes_is_stored(served: Served) -> None:
    stored = await served.client.resource(POLICIES).create(policy())
    assert stored["spec"]["resourceSelectors"][0]["namespace"] == "default"
    assert stored["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"]
    assert served.webhook.figures.answers["/mutate-propagationpolicy", 200] == 1


async def test_what_the_webhook_refuses_is_refused_in_its_name(served: Served) -> None:
    foreign = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "elsewhere"}]
    with pytest.raises(ApiError, match=r'admission webhook "propagationpolicy.karmada.io" denied the request'):
        await served.client.resource(POLICIES).create(policy(resourceSelectors=foreign))


async def test_bindings_are_converted_by_the_webhook(served: Served) -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    spec = {"resource": resource, "replicas": 2}
    await served.client.resource(NEW_BINDINGS).create({"metadata": {"name": "b", "namespace": "default"}, "spec": spec})
    old = await served.client.resource(OLD_BINDINGS).get("b", "default")
    assert old["spec"]["resource"]["replicas"] == 2
    assert served.webhook.figures.answers["/convert", 200] >= 1
