"""Admission of what Clusters have the control plane do with Secrets.

The control plane reads the Secret that a Cluster names, whoever's it is, and sends the token in it to the address that
the Cluster names. Whoever says either must be allowed to read that Secret.
"""

from karmada.aggregated.identities import CLUSTERS
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.auth.model import Attributes, Authorizer
from karmada.apiserver.failures import forbidden
from karmada.apiserver.resources import JSONObject

_REFERENCES = ("secretRef", "impersonatorSecretRef")
_WHERE = ("apiEndpoint", "insecureSkipTLSVerification", "proxyHeader", "proxyURL", "syncMode")


class SecretGuard:
    """Lets nobody use a Secret by a Cluster who may not read it. An `AdmissionPlugin`; `connect` comes before the first
    request."""

    kinds = (CLUSTERS,)
    _authorizer: Authorizer

    def connect(self, authorizer: Authorizer) -> None:
        """Ask this one who may read what."""
        self._authorizer = authorizer

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of what is in a Cluster's spec."""
        return request.object is not None and not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Ask about each Secret that is named, or sent elsewhere, since this write."""
        new, old = _spec(request.object), _spec(request.old)
        goes_elsewhere = _differ(new, old, _WHERE)
        for field in _REFERENCES:
            reference = new.get(field)
            if not reference or not (goes_elsewhere or _differ(new, old, (field,))):
                continue
            namespace, name = reference.get("namespace") or "", reference.get("name") or ""
            wanted = Attributes("get", "", "v1", "secrets", "", namespace, name)
            if not self._authorizer.authorize(request.user, wanted).allowed:
                why = f"spec.{field}: you may not read Secret {namespace}/{name}, which would be sent to the cluster"
                raise forbidden(request.type.group, request.type.plural, request.name, why)


def _spec(cluster: JSONObject | None) -> JSONObject:
    spec = (cluster or {}).get("spec")
    return spec if isinstance(spec, dict) else {}


def _differ(new: JSONObject, old: JSONObject, fields: tuple[str, ...]) -> bool:
    return any((new.get(field) or None) != (old.get(field) or None) for field in fields)
