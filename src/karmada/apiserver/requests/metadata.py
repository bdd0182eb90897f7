"""Rules of object metadata that hold for every kind: what the server fills in, keeps, and refuses to change."""

from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.resources import FieldError, JSONObject, ResourceType, same_but
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure, bad_request

_SERVER_OWNED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")
_SHOWN = 16
"""How many finalizers a refusal names."""


def ensure(obj: JSONObject) -> JSONObject:
    """The object's metadata, made where it is missing."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = obj["metadata"] = {}
    return metadata


def check_namespace(call: Call, metadata: JSONObject) -> None:
    """The namespace in the object must be that of the request; it is filled in when absent."""
    if not call.served.type.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if not given:
        metadata["namespace"] = call.namespace
    elif given != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(call: Call, metadata: JSONObject) -> None:
    """The name in the object must be that of the URL."""
    name = metadata.get("name")
    if not name:
        raise bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def wipe(metadata: JSONObject) -> None:
    """Drop what only the server may set, before admission sees a new object."""
    for field in _SERVER_OWNED:
        metadata.pop(field, None)
    version = metadata.pop("resourceVersion", None)
    if version and version != "0" and str(version).isdigit():
        raise Failure(500, "", "resourceVersion should not be set on objects to be created")


def fill(context: Context, metadata: JSONObject, generation: bool) -> None:
    """What the server sets on a new object, after admission."""
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generated_name(context, metadata["generateName"])
    metadata["uid"] = context.uid()
    metadata["creationTimestamp"] = rfc3339(context.now())
    if generation:
        metadata["generation"] = 1


def generated_name(context: Context, base: str) -> str:
    """A prefix, cut to leave room, with five random characters."""
    return base[:58] + context.suffix()


def keep(metadata: JSONObject, old: JSONObject) -> list[FieldError]:
    """Take over from the old object what an update must not change; refuse what it may not even try to."""
    errors = []
    for field in ("uid", "deletionTimestamp"):
        given = metadata.get(field)
        if given and given != old.get(field) and not (field == "deletionTimestamp" and old.get(field)):
            text = f'Invalid value: "{given}": field is immutable'
            errors.append(FieldError("FieldValueInvalid", f"metadata.{field}", text))
    grace = metadata.get("deletionGracePeriodSeconds")
    if grace is not None and grace != old.get("deletionGracePeriodSeconds"):
        field, text = "metadata.deletionGracePeriodSeconds", f"Invalid value: {grace}: field is immutable"
        errors.append(FieldError("FieldValueInvalid", field, text))
    if old.get("deletionTimestamp"):
        before = frozenset(old.get("finalizers") or ())
        added = [item for item in metadata.get("finalizers") or () if item not in before]
        if added:
            shown = ", ".join(f'"{item}"' for item in added[:_SHOWN])
            shown += f" and {len(added) - _SHOWN} more" if len(added) > _SHOWN else ""
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{shown}}}"
            )
            errors.append(FieldError("FieldValueForbidden", "metadata.finalizers", text))
    for field in _KEPT:
        if field in old:
            metadata[field] = old[field]
        else:
            metadata.pop(field, None)
    return errors


def tidy(metadata: JSONObject) -> None:
    """Drop what the reference does not write: empty maps and lists, nulls and empty strings."""
    for field in ("labels", "annotations", "finalizers", "ownerReferences", "managedFields"):
        if field in metadata and not metadata[field]:
            del metadata[field]
    for field in ("generateName", "namespace", "selfLink", "creationTimestamp", "deletionTimestamp"):
        if field in metadata and not metadata[field]:
            del metadata[field]
    if metadata.get("generation") == 0:
        del metadata["generation"]


_COUNTED_METADATA = {
    ("discovery.k8s.io", "endpointslices"): ("labels",),
    ("apps", "deployments"): ("annotations",),
}
"""The parts of metadata whose changes count as a new generation, for the few kinds that have such."""


_UNCOUNTED = frozenset({("scheduling.k8s.io", "priorityclasses")})
"""Kinds that stay in their first generation."""


def same_generation(type_: ResourceType, new: JSONObject, old: JSONObject) -> bool:
    """Whether nothing that counts differs: anything but metadata and status does."""
    if type_.stored_as in _UNCOUNTED:
        return True
    if not same_but(new, old, ("metadata", "status") if type_.has_status or not type_.custom else ("metadata",)):
        return False
    counted = _COUNTED_METADATA.get(type_.stored_as, ())
    return all(new["metadata"].get(key) == old["metadata"].get(key) for key in counted)
