"""Discovery: what the server serves, in the form that clients of all ages understand."""

from karmada.apiserver.discovery.cache import Discovery
from karmada.apiserver.discovery.documents import AGGREGATED_VERSIONS, aggregated_media_type

__all__ = ["AGGREGATED_VERSIONS", "Discovery", "aggregated_media_type"]
