"""Values as JSON between the grader and a student's process; never pickle.

Floats travel as hexadecimal text and tensors as their bytes with dtype and shape, so
that NaN, infinities and every last bit survive. Only exact built-in types pass: an
object that compares equal to everything is refused on the student's side and could
not be written in this format anyway. The module imports nothing of the package,
because the student's process loads it without having the package.
"""

import base64
import json
import math
import struct

import numpy
import torch

MESSAGE_LIMIT = 64 * 2**20  # bytes of one message
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
PLAIN = (type(None), bool, int, str)
TENSORS = (torch.Tensor, torch.nn.Parameter)
NUMBER_KINDS = "biuf"  # numpy kinds: bool, integers, floats


class Unsendable(TypeError):
    """A value that cannot cross: its message is the name of its type."""


def encode(value, leaves: list | None = None):
    """Turn a value into JSON data; ``leaves`` collects tensors that require grad."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is list:
        return [encode(item, leaves) for item in value]
    if kind is tuple:
        return {"tuple": [encode(item, leaves) for item in value]}
    if kind is dict:
        pairs = value.items()
        return {"dict": [[encode(k, leaves), encode(v, leaves)] for k, v in pairs]}
    if kind is torch.dtype and value in NAMES:
        return {"dtype": NAMES[value]}
    if kind is numpy.ndarray or isinstance(value, numpy.generic):
        return encode_array(value)
    if kind in TENSORS and value.dtype in NAMES and value.layout is torch.strided:
        return encode_tensor(value, leaves)
    raise Unsendable(kind.__name__)


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


def encode_array(value) -> dict:
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
    """The bytes of a tensor, refused unless they are as many as its shape says."""
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
        raise Unsendable(f"value of {len(body)} bytes")
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
