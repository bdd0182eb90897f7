"""Claims whose effects the caches do not show yet.

A template's own claim comes back as a change of the template, which nobody need look at: its binding is written right
after the claim. And a policy that changes while such a binding is on its way must have that template looked at again,
though no cache links the two yet.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from karmada.api.work.v1alpha2 import ObjectReference
from karmada.controllers.detector.policy_index import TemplateKey


class FreshClaims:
    """Claims that were written and that the caches do not show yet."""

    def __init__(self) -> None:
        self._under_way: dict[TemplateKey, set[str]] = {}
        """Templates being claimed, and the versions of them that were seen meanwhile."""
        self._versions: dict[TemplateKey, str] = {}
        """The version a template got by its claim, until the cache shows it."""
        self._unbound: dict[tuple[str, ...], tuple[TemplateKey, str]] = {}
        """Claimed templates and the permanent ids of their policies, until the cache shows the binding."""

    @contextmanager
    def claiming(self, key: TemplateKey, permanent_id: str) -> Iterator[None]:
        """A claim is written in this context; its binding is written after it."""
        self._under_way[key] = set()
        self.unbinds(key, permanent_id)
        try:
            yield
        finally:
            self._under_way.pop(key, None)

    def claimed(self, key: TemplateKey, version: str) -> bool:
        """The claim gave a template this version (none if it had the claim); whether other versions were taken for
        it, so that somebody must look again."""
        seen = self._under_way.pop(key, set())
        if version and version not in seen:
            self._versions[key] = version
        return bool(seen - {version})

    def is_own(self, key: TemplateKey, version: str) -> bool:
        """Whether a version of a template that the cache shows is (taken to be) that of our claim."""
        under_way = self._under_way.get(key)
        if under_way is not None:
            under_way.add(version)
            return True
        return self._versions.pop(key, "") == version

    def bound(self, template: ObjectReference, permanent_ids: Iterable[str]) -> None:
        """The cache shows the binding of a template with the claims of these policies."""
        key = (template.api_version, template.kind, template.namespace, template.name)
        known = self._unbound.get(key)
        if known is not None and known[1] in permanent_ids:
            del self._unbound[key]

    def unbinds(self, key: TemplateKey, permanent_id: str) -> None:
        """From now on no binding may lead to a template with the claim of a policy."""
        self._unbound[key[1:]] = (key, permanent_id)

    def is_unbound(self, key: TemplateKey, permanent_id: str) -> bool:
        """Whether a template has the claim of a policy, and the cache does not show its binding."""
        return self._unbound.get(key[1:]) == (key, permanent_id)

    def released(self, key: TemplateKey, permanent_id: str) -> None:
        """The claim of a policy was taken back; that of another one which came meanwhile stays."""
        if self.is_unbound(key, permanent_id):
            del self._unbound[key[1:]]

    def gone(self, key: TemplateKey) -> None:
        """The template does not exist any more."""
        self._versions.pop(key, None)
        self._unbound.pop(key[1:], None)

    def of_policy(self, permanent_id: str) -> list[TemplateKey]:
        """The templates of a policy whose bindings the cache does not show."""
        return [key for key, policy in self._unbound.values() if policy == permanent_id]
