"""Secret."""

from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.settings import Settings


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member's controller fills in the tokens of service accounts."""
    if desired.get("type") == "kubernetes.io/service-account-token" and observed.get("data") is not None:
        desired["data"] = observed["data"]
    return desired
