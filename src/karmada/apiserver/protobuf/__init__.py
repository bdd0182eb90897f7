"""Protobuf request bodies of the built-in kinds, as Go clients send them, to the trees that JSON bodies give."""

from karmada.api.protobuf_wire import ProtobufError
from karmada.apiserver.protobuf.decoding import MEDIA_TYPE, decode

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode"]
