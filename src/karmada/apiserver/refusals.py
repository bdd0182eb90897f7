"""Refusals of the pipeline as every transport raises them."""

from karmada.apiserver.requests.freshness import DeadlinePassed
from karmada.apiserver.requests.routing import PageNotFound
from karmada.apiserver.storage.base import StorageFailed
from karmada.machinery import errors
from karmada.machinery.httpserver.failure import Failure

REFUSALS = (Failure, PageNotFound, DeadlinePassed, StorageFailed)


def typed(refusal: Exception) -> errors.ApiError:
    """A refusal of the pipeline as every transport raises it."""
    match refusal:
        case Failure():
            return errors.from_status(refusal.code, refusal.status(), float(refusal.headers.get("Retry-After", "1")))
        case PageNotFound():
            return errors.NotFound("the server could not find the requested resource")
        case DeadlinePassed():
            return errors.Timeout("the request did not complete within its timeout")
        case _:
            return errors.ServerError(f"the storage failed: {refusal}")
