"""Values as JSON between the grader and a student's process; never pickle.

Floats are sent as hexadecimal text and tensors as their bytes with dtype and shape, so
that NaN, infinities and every last bit survive. Received values have plain types: a
mapping is a dict, a named tuple a tuple, a generator, a view or a deque a list, a
subclass of Tensor a Tensor. So an object that compares equal to everything is refused
or reduced to its content. The module imports nothing of the package, because the
student's process loads it without the package.
"""

import base64
import json
import math
import struct
from collections import deque
from collections.abc import Iterator, Mapping, MappingView, Set
from fractions import Fraction
from itertools import islice

import numpy
import torch

MESSAGE_LIMIT = 64 * 2**20  # bytes of one message
DEPTH = 100  # of lists in lists
ITEMS = 10**6  # that are taken from a generator
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
PLAIN = (type(None), bool, int, str)
EXACT = 2**63  # JSON of Python refuses an integer of more than 4300 digits
LISTS = (list, deque, range, MappingView, Iterator)
NUMBER_KINDS = "biuf"  # numpy kinds: bool, integers, floats


class Unsendable(TypeError):
    """A value that cannot cross: its message is the name of its type."""


def encode(value, leaves: list | None = None, depth: int = 0):
    """Turn a value into JSON data; ``leaves`` collects tensors that require grad."""
    kind = type(value)
    if kind is int and abs(value) >= EXACT:
        return {"int": hex(value)}
    if kind in PLAIN:
        return value
    if kind is float:
        return {"float": value.hex()}
    if isinstance(value, str):  # an enum's member, numpy's text
        return str.__str__(value)
    if isinstance(value, int):
        return encode(int.__int__(value))
    if kind is Fraction:
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if kind is torch.dtype and value in NAMES:
        return {"dtype": NAMES[value]}
    if isinstance(value, torch.Tensor):
        return encode_tensor(plain_tensor(value), leaves)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return encode_array(value, leaves, depth)
    if depth >= DEPTH:
        raise Unsendable(f"{kind.__name__} nested more than {DEPTH} deep")

    def inside(items) -> list:
        return [encode(item, leaves, depth + 1) for item in items]

    if isinstance(value, LISTS):
        items = list(islice(value, ITEMS + 1))
        if len(items) > ITEMS:
            raise Unsendable(f"{kind.__name__} of more than {ITEMS} items")
        return inside(items)
    if isinstance(value, tuple):
        return {"tuple": inside(value)}
    if isinstance(value, Mapping):
        return {"dict": [inside(pair) for pair in value.items()]}
    if isinstance(value, Set):
        return {"set": inside(value)}
    raise Unsendable(kind.__name__)


def plain_tensor(value: torch.Tensor) -> torch.Tensor:
    """The tensor itself where its type is a subclass; its place in the graph stays."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        with torch._C.DisableTorchFunctionSubclass():
            value = value.as_subclass(torch.Tensor)
    if value.dtype not in NAMES or value.layout is not torch.strided:
        raise Unsendable(f"Tensor of {value.dtype}, {value.layout}")
    return value


def encode_tensor(value: torch.Tensor, leaves: list | None) -> dict:
    dense = value.detach().cpu().clone(memory_format=torch.contiguous_format)
    flat = dense.reshape(-1)  # an expanded tensor of one number has stride 0
    if flat.numel() * flat.element_size() > MESSAGE_LIMIT // 2:
        raise Unsendable(f"Tensor of shape {tuple(value.shape)}")
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    if value.requires_grad and leaves is not None:
        leaves.append(value)
    return {
        "tensor": NAMES[value.dtype],
        "shape": list(value.shape),
        "data": base64.b64encode(data).decode(),
        "grad": value.requires_grad,
    }


def encode_array(value, leaves: list | None, depth: int):
    if value.dtype.kind in "OU" and value.size <= ITEMS:  # objects, text
        return encode(value.tolist(), leaves, depth + 1)
    if value.dtype.kind not in NUMBER_KINDS or value.nbytes > MESSAGE_LIMIT // 2:
        raise Unsendable(f"numpy {value.dtype} of shape {value.shape}")
    return {
        "array": value.dtype.str,
        "shape": list(value.shape),
        "data": base64.b64encode(value.tobytes()).decode(),
        "scalar": isinstance(value, numpy.generic),
    }


def decode(data, leaf=lambda tensor: tensor):
    """Undo ``encode``; each tensor that required grad passes through ``leaf``."""
    if type(data) in PLAIN:
        return data
    if isinstance(data, list):
        return [decode(item, leaf) for item in data]
    if "float" in data:
        return float.fromhex(data["float"])
    if "int" in data:
        return int(data["int"], 16)
    if "fraction" in data:
        return Fraction(*(int(part, 16) for part in data["fraction"]))
    if "set" in data:
        return {decode(item, leaf) for item in data["set"]}
    if "tuple" in data:
        return tuple(decode(item, leaf) for item in data["tuple"])
    if "dict" in data:
        return {decode(k, leaf): decode(v, leaf) for k, v in data["dict"]}
    if "dtype" in data:
        return DTYPES[data["dtype"]]
    if "array" in data:
        return decode_array(data)
    tensor = decode_tensor(data)
    return leaf(tensor) if data["grad"] and tensor.is_floating_point() else tensor


def content(data: dict, size: int) -> bytearray:
    """The bytes of a tensor; an error unless their number fits the shape."""
    raw = bytearray(base64.b64decode(data["data"], validate=True))
    if any(type(n) is not int or n < 0 for n in data["shape"]):
        raise ValueError(f"shape {data['shape']}")
    if len(raw) != math.prod(data["shape"]) * size:
        raise ValueError(f"{len(raw)} bytes for shape {data['shape']}")
    return raw


def decode_tensor(data: dict) -> torch.Tensor:
    dtype = DTYPES[data["tensor"]]
    raw = content(data, dtype.itemsize)
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(data["shape"])


def decode_array(data: dict):
    dtype = numpy.dtype(str(data["array"]))
    if dtype.kind not in NUMBER_KINDS:
        raise ValueError(f"dtype {dtype}")
    array = numpy.frombuffer(content(data, dtype.itemsize), dtype=dtype)
    array = array.reshape(data["shape"])
    return array[()] if data["scalar"] else array


def send(channel, message: dict) -> None:
    """Write one message: eight bytes of length, then JSON."""
    body = json.dumps(message).encode()
    if len(body) > MESSAGE_LIMIT:
        raise Unsendable(f"value of {len(body) >> 20} MB")
    channel.sendall(struct.pack(">Q", len(body)) + body)


def receive(channel, read=lambda channel, size: channel.recv(size)) -> dict | None:
    """Read one message; None at the end of the stream."""
    body, wanted = bytearray(), 8
    for stage in ("length", "body"):
        body.clear()
        while len(body) < wanted:
            piece = read(channel, min(wanted - len(body), 2**20))
            if not piece:
                return None
            body += piece
        if stage == "length":
            (wanted,) = struct.unpack(">Q", body)
            if wanted > MESSAGE_LIMIT:
                raise ValueError(f"a message of {wanted} bytes")
    message = json.loads(body.decode("utf-8"))
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message
