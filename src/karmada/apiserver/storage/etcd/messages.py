"""The messages of etcd's v3 API, as far as they are used here, described to protobuf at run time.

The table below is the wire format: field names, numbers and types are etcd's; fields that are not listed are
skipped when reading. Message types are built when the module is first imported, which only etcd users do.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "etcdserverpb"

_FIELDS = {
    "ResponseHeader": "revision=3:int64",
    "KeyValue": "key=1:bytes create_revision=2:int64 mod_revision=3:int64 value=5:bytes",
    "Event": "type=1:int32 kv=2:KeyValue prev_kv=3:KeyValue",
    "RangeRequest": "key=1:bytes range_end=2:bytes limit=3:int64 revision=4:int64 keys_only=8:bool count_only=9:bool",
    "RangeResponse": "header=1:ResponseHeader kvs=2:KeyValue* more=3:bool",
    "PutRequest": "key=1:bytes value=2:bytes",
    "PutResponse": "header=1:ResponseHeader",
    "DeleteRangeRequest": "key=1:bytes",
    "DeleteRangeResponse": "header=1:ResponseHeader",
    "Compare": "result=1:int32 target=2:int32 key=3:bytes mod_revision=6:int64",
    "RequestOp": "request_range=1:RangeRequest request_put=2:PutRequest request_delete_range=3:DeleteRangeRequest",
    "ResponseOp": "response_range=1:RangeResponse",
    "TxnRequest": "compare=1:Compare* success=2:RequestOp* failure=3:RequestOp*",
    "TxnResponse": "header=1:ResponseHeader succeeded=2:bool responses=3:ResponseOp*",
    "CompactionRequest": "revision=1:int64",
    "CompactionResponse": "",
    "WatchProgressRequest": "",
    "WatchCreateRequest": "key=1:bytes range_end=2:bytes start_revision=3:int64 progress_notify=4:bool prev_kv=6:bool",
    "WatchRequest": "create_request=1:WatchCreateRequest progress_request=3:WatchProgressRequest",
    "WatchResponse": "header=1:ResponseHeader created=3:bool canceled=4:bool compact_revision=5:int64"
    " cancel_reason=6:string events=11:Event*",
    "StatusRequest": "",
    "StatusResponse": "version=2:string",
}

COMPARE_EQUAL = 0
COMPARE_MOD = 2
EVENT_DELETE = 1


def _build() -> dict[str, type[Any]]:
    field_type = descriptor_pb2.FieldDescriptorProto
    scalars = {
        "int64": field_type.TYPE_INT64,
        "int32": field_type.TYPE_INT32,
        "bytes": field_type.TYPE_BYTES,
        "string": field_type.TYPE_STRING,
        "bool": field_type.TYPE_BOOL,
    }
    file = descriptor_pb2.FileDescriptorProto(name="etcd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            label, _, kind = field.partition(":")
            field_name, _, number = label.partition("=")
            added = message.field.add(name=field_name, number=int(number))
            added.label = field_type.LABEL_REPEATED if kind.endswith("*") else field_type.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in scalars:
                added.type = scalars[kind]
            else:
                added.type, added.type_name = field_type.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS}


MESSAGES = _build()
