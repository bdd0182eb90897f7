"""OpenAPI v2 and v3 documents of everything that is served."""

from karmada.apiserver.openapi.cache import OpenAPI
from karmada.apiserver.openapi.protobuf import MEDIA_TYPE as PROTOBUF_MEDIA_TYPE

__all__ = ["PROTOBUF_MEDIA_TYPE", "OpenAPI"]
