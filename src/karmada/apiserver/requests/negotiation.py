"""Content negotiation: in which form a client wants its answer.

Objects are answered as JSON (or YAML), whole, as `Table` rows or as bare metadata. Protobuf is not spoken: clients
that prefer it also accept JSON. An `Accept` header that nothing here satisfies is refused with 406.
"""

from enum import StrEnum
from typing import NamedTuple

from karmada.machinery.httpserver.failure import Failure

_OBJECT_TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_LIST_TYPES = _OBJECT_TYPES + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


class Form(StrEnum):
    """The form of an answer; values are the names clients ask by."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class View(NamedTuple):
    """How an answer is to be written; `version` is that of meta.k8s.io for forms other than OBJECT."""

    form: Form = Form.OBJECT
    version: str = "v1"
    yaml: bool = False
    pretty: bool = False


JSON = View()
_FORMS = {form.value: form for form in Form if form is not Form.OBJECT}


def refuse_tables(view: View) -> None:
    """Raise 406 where no object can be shown as a row."""
    if view.form is Form.TABLE:
        raise _no_transformation()


def _no_transformation() -> Failure:
    return Failure(406, "NotAcceptable", f"only the following media types are accepted: {_OBJECT_TYPES}")


def negotiate(accept: str, collection: bool) -> View:
    """The view for an `Accept` header; `collection` widens the list named in the refusal."""
    if not accept or accept == "*/*" or accept == "application/json":
        return JSON
    asked_for_transformation = False
    for clause in _by_quality(accept):
        media, *params = [part.strip() for part in clause.split(";")]
        options = dict(param.split("=", 1) for param in params if "=" in param)
        if media in ("application/json", "*/*", "application/yaml"):
            view = _transformation(options, media == "application/yaml")
            if view is not None:
                return view
            asked_for_transformation = True
        elif media == "application/vnd.kubernetes.protobuf":
            asked_for_transformation = asked_for_transformation or "as" in options
    if asked_for_transformation:
        raise _no_transformation()
    available = _LIST_TYPES if collection else _OBJECT_TYPES
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    raise Failure(406, "NotAcceptable", message, {})


def require(accept: str, media: str) -> None:
    """Raise 406 where a client does not accept the one form there is."""
    wanted = [clause.partition(";")[0].strip() for clause in accept.split(",")] if accept else []
    if wanted and media not in wanted and "*/*" not in wanted:
        message = f"406: Not Acceptable\n\nAvailable representations: {media}"
        raise Failure(406, "NotAcceptable", message, {})


def document_as_yaml(accept: str, of_groups: bool) -> bool:
    """Whether a discovery document is wanted as YAML rather than JSON; documents about groups are less strict."""
    known = ("application/json", "*/*", "application/vnd.kubernetes.protobuf")
    for clause in _by_quality(accept) if accept else ():
        media = clause.partition(";")[0].strip()
        if media == "application/yaml":
            return True
        if media in known or (of_groups and media == "application/*"):
            return False
    if accept and of_groups:
        raise _no_transformation()
    if accept:
        message = f"406: Not Acceptable\n\nAvailable representations: {_OBJECT_TYPES}"
        raise Failure(406, "NotAcceptable", message, {})
    return False


def _transformation(options: dict[str, str], yaml: bool) -> View | None:
    name = options.get("as", "")
    if not name:
        return View(yaml=yaml) if yaml else JSON
    form = _FORMS.get(name)
    version = options.get("v", "")
    if form is None or options.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    return View(form, version, yaml)


def _by_quality(accept: str) -> list[str]:
    clauses = [clause.strip() for clause in accept.split(",")]
    if ";q=" not in accept.replace(" ", ""):
        return clauses

    def quality(clause: str) -> float:
        for param in clause.replace(" ", "").split(";")[1:]:
            if param.startswith("q="):
                try:
                    return -float(param[2:])
                except ValueError:
                    return 0.0
        return -1.0

    return sorted(clauses, key=quality)
