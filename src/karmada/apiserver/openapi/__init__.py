"""OpenAPI v2 and v3 documents of everything that is served."""

from karmada.apiserver.openapi.cache import OpenAPI

__all__ = ["OpenAPI"]
