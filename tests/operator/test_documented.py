"""The Karmada object of docs/production.md: it is valid, the host cluster takes it and everything it becomes."""

import re
from pathlib import Path

import yaml
from tests.deploy.test_deploy import create_strictly
from tests.operator.test_controller import KARMADAS, NAMESPACES

from karmada.api.codec import from_tree
from karmada.api.operator.v1alpha1 import Karmada
from karmada.api.version import IMAGE
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.install.operator import operator
from karmada.machinery.client import Client
from karmada.operator.plan import RUNNING, plan
from karmada.operator.validation import problems

PAGE = Path(__file__).parents[2] / "docs" / "production.md"


async def test_the_documented_object_and_what_it_becomes_are_taken_by_a_strict_host() -> None:
    (text,) = re.findall(r"^```yaml file=karmada.yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    tree = yaml.safe_load(text)
    karmada = from_tree(tree, Karmada)
    assert problems(karmada) == []
    made = plan(karmada, IMAGE).everything
    replicas = {one["metadata"]["name"]: one["spec"]["replicas"] for one in made if one["kind"] in RUNNING}
    assert replicas["karmada-demo-etcd"] == replicas["karmada-demo-apiserver"] == 3
    async with ApiServer() as host:
        client = Client(host.direct(ADMIN))
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        await client.resource(NAMESPACES).create({"metadata": {"name": "karmada-system", "labels": restricted}})
        await create_strictly(client, operator("karmada-system", IMAGE))
        await client.resource(KARMADAS).create(tree)
        await create_strictly(client, made)
