"""Reviews and tokens: resources that are only ever created and never stored."""

from collections.abc import Sequence

import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.auth.model import Authorizer
from karmada.apiserver.auth.reviews import REVIEWS, Review, ReviewContext
from karmada.apiserver.requests import decoding, metadata, ownership
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.negotiation import refuse_tables
from karmada.apiserver.requests.options import WriteOptions, admission_options, write_options
from karmada.apiserver.requests.pipeline import Specials, Verb
from karmada.apiserver.requests.subresources import own_kind
from karmada.apiserver.resources import JSONObject
from karmada.machinery.clock import rfc3339

_TOKEN_REQUEST = ("authentication.k8s.io", "v1", "TokenRequest")


def review_handlers(identity: Identity, authorizer: Authorizer) -> Specials:
    """A handler for each kind of review."""

    def handler(review: Review) -> Verb:
        async def answer(context: Context, call: Call) -> Answer:
            refuse_tables(call.view)
            options = write_options(dict(call.params), "CreateOptions")
            obj = await decoding.decode(context, call, options.field_validation)
            meta = metadata.ensure(obj)
            if review.namespaced and not meta.get("namespace"):
                meta["namespace"] = call.namespace
            if review.tracked:
                ownership.track(context, call, obj, None, options.field_manager)
            tokens = identity.tokens
            around = ReviewContext(
                call.user,
                call.namespace,
                identity.rbac,
                authorizer,
                identity.authenticator,
                tokens.audiences,
                rfc3339(context.now()),
            )
            return Answer(201, orjson.dumps(review.answer(obj, around)))

        return answer

    return {(review.group, review.plural, ""): Guarded(Access.RESOURCE, handler(review)) for review in REVIEWS}


def token_handler(identity: Identity) -> Verb:
    """`serviceaccounts/token`."""

    async def answer(context: Context, call: Call) -> Answer:
        from karmada.apiserver.auth.token_request import TokenRequestContext, create_token

        refuse_tables(call.view)
        options = write_options(dict(call.params), "CreateOptions")
        body = await own_kind.body(call, _TOKEN_REQUEST, options.field_validation)
        obj = await _admitted(context, call, body, options, identity.tokens.audiences)
        request = TokenRequestContext(identity.tokens, identity.objects, context.now())
        return Answer(201, orjson.dumps(create_token(call.namespace, call.name, obj, request)))

    return answer


async def _admitted(
    context: Context, call: Call, obj: JSONObject, options: WriteOptions, audiences: Sequence[str]
) -> JSONObject:
    """A request for a token as admission leaves it: webhooks and policies may limit tokens, or refuse them.

    What changes it sees a default duration, what judges it sees the server's audiences as well, as in Kubernetes.
    """
    group, version, kind = _TOKEN_REQUEST
    _default_duration(obj)
    request = AdmissionRequest(
        Operation.CREATE,
        call.served.type,
        call.namespace,
        call.name,
        call.subresource,
        {
            **obj,
            "kind": kind,
            "apiVersion": f"{group}/{version}",
            "metadata": {"name": call.name, "namespace": call.namespace, **obj["metadata"]},
        },
        None,
        call.user,
        admission_options(options, "CreateOptions"),
        options.dry_run,
        _TOKEN_REQUEST,
        call.warnings,
    )
    await context.admission.mutate(request)
    made = request.object or obj
    own_kind.decoded(_TOKEN_REQUEST, made)
    _default_duration(made)
    made["spec"]["audiences"] = made["spec"]["audiences"] or list(audiences)
    request.object = made
    await context.admission.validate(request)
    return made


def _default_duration(obj: JSONObject) -> None:
    from karmada.apiserver.auth.token_request import DEFAULT_SECONDS

    if obj["spec"]["expirationSeconds"] is None:
        obj["spec"]["expirationSeconds"] = DEFAULT_SECONDS
