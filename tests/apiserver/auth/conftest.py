"""Objects, a clock and keys for the tests of authentication."""

from dataclasses import dataclass, field

import pytest

from karmada.apiserver.auth import jwt
from karmada.apiserver.auth.pki import Authority
from karmada.apiserver.auth.service_accounts import ServiceAccountTokens

START = 1_800_000_000.0


@dataclass
class Clock:
    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeObjects:
    objects: dict = field(default_factory=dict)

    def put(self, plural, namespace, name, **body):
        body.setdefault("metadata", {}).update(name=name)
        body["metadata"].setdefault("uid", f"uid-{name}")
        self.objects[(("", plural), namespace, name)] = body
        return body

    def uid(self, kind, namespace, name):
        obj = self.objects.get((kind, namespace, name))
        return None if obj is None else obj["metadata"]["uid"]

    def deleted_at(self, kind, namespace, name):
        return self.objects[kind, namespace, name]["metadata"].get("deletionTimestamp", "")

    def read(self, kind, namespace, name):
        return self.objects.get((kind, namespace, name))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects() -> FakeObjects:
    return FakeObjects()


@pytest.fixture(scope="session")
def signing() -> jwt.SigningKey:
    return jwt.SigningKey(jwt.generate_key())


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority.create("test-ca")


@pytest.fixture
def tokens(signing, objects, clock) -> ServiceAccountTokens:
    return ServiceAccountTokens(signing, objects, clock, lambda: "id-1")
