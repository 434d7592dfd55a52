"""A small torch on plain lists, for the book's exercises, with autograd.

Not PyTorch. A missing name raises NotHere and never gives a wrong number. Floats of 32
bits are rounded as such, views share their memory, gradients are of first order.
"""

import math
import random
import sys
from array import array
from functools import cache
from itertools import accumulate, product
from types import ModuleType

nan, inf, pi = math.nan, math.inf, math.pi
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


class NotHere(AttributeError):
    """A part of PyTorch that this one lacks."""


class dtype:
    def __init__(self, name, rank):
        self.name, self.rank = name, rank
        self.is_floating_point = rank > 1

    def __repr__(self):
        return f"torch.{self.name}"


bool_, int64, float32, float64 = (
    dtype("bool", 0), dtype("int64", 1), dtype("float32", 2), dtype("float64", 3)
)  # fmt: skip
long, double, int32 = int64, float64, int64
_default = [float32]
_grad_on = [True]
KINDS = {bool: bool_, int: int64}


def set_default_dtype(d):
    _default[0] = d


def get_default_dtype():
    return _default[0]


def set_num_threads(_):
    pass


def _cast(values, d):
    if d is float32:
        return array("f", values).tolist()
    if d is float64:
        return [float(v) for v in values]
    return [(bool if d is bool_ else int)(v) for v in values]


def _size(shape):
    return math.prod(shape)


@cache
def _spread(shape, out):
    """For each place of `out` the place in `shape` that it is broadcast from."""
    if shape == out:
        return range(_size(out))
    if len(shape) > len(out):
        raise RuntimeError(f"shape {[*shape]} does not fit {[*out]}")
    shape = (1,) * (len(out) - len(shape)) + shape
    step, places = _size(shape), [0]
    for n, size in zip(shape, out, strict=True):
        step //= n or 1
        if n not in (1, size):
            raise RuntimeError(f"shape {[*shape]} does not fit {[*out]}")
        places = [p + (i * step if n != 1 else 0) for p in places for i in range(size)]
    return places


def broadcast_shapes(*shapes):
    out = []
    for k in range(max(map(len, shapes), default=0), 0, -1):
        sizes = {s[-k] for s in shapes if len(s) >= k}
        if len(sizes - {1}) > 1:
            a, b = sorted(sizes - {1})[:2]
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b})"
                f" at non-singleton dimension {len(out)}"
            )
        out.append(max(sizes) if 0 not in sizes else 0)
    return tuple(out)


class Tensor:
    """Values are `store[p] for p in places`, in rows; a view shares its store."""

    __slots__ = (
        "_version", "dtype", "grad", "inputs", "places", "pull", "requires_grad",
        "shape", "store", "weak",
    )  # fmt: skip
    __hash__ = object.__hash__

    def __init__(self, store, shape, dtype, places=None):
        self.store, self.shape, self.dtype = store, tuple(shape), dtype
        self.places = range(len(store)) if places is None else places
        self.requires_grad, self.grad, self.inputs, self.pull = False, None, (), None
        self.weak = False

    def __getattr__(self, name):
        raise NotHere(f"Tensor.{name}")

    @property
    def values(self):
        whole = isinstance(self.places, range) and len(self.places) == len(self.store)
        return self.store if whole else [self.store[p] for p in self.places]

    # --- what it is ---
    ndim = property(lambda self: len(self.shape))
    T = property(lambda self: self.transpose(0, 1) if self.ndim == 2 else self)
    data = property(lambda self: self.detach())
    is_leaf = property(lambda self: self.pull is None)
    device = property(lambda self: "cpu")

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self.ndim

    def numel(self):
        return _size(self.shape)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(len(self)))

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return self.values[0]

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    __index__ = __int__

    def __bool__(self):
        if self.numel() != 1:
            raise RuntimeError(
                "Boolean value of Tensor with more than one value is ambiguous"
            )
        return bool(self.item())

    def __contains__(self, x):
        return any(v == x for v in self.values)

    def __format__(self, spec):
        return format(self.item(), spec) if self.shape == () else repr(self)

    def tolist(self):
        return _nest(self.values, self.shape)

    def __repr__(self):
        def show(v):
            if self.dtype.is_floating_point:
                return f"{v:.4f}" if v != v or abs(v) < 1e5 else f"{v:.4e}"
            return str(v)

        said = _nest([*map(show, self.values)], self.shape)
        said = str(said).replace("'", "")
        end = ", requires_grad=True" if self.requires_grad and not self.pull else ""
        end = ", grad_fn=<...>" if self.pull else end
        if self.dtype.is_floating_point and self.dtype is not _default[0]:
            end = f", dtype={self.dtype}{end}"
        return f"tensor({said}{end})"

    # --- conversion ---
    def to(self, other=None, dtype=None, **_):
        d = dtype or (other.dtype if isinstance(other, Tensor) else other)
        if d is None or isinstance(d, str) or d is self.dtype:
            return self
        return _map(lambda a: a, lambda g, a, o: g, self, out=d)

    type = type_as = to

    def double(self):
        return self.to(float64)

    def float(self):
        return self.to(float32)

    def long(self):
        return self.to(int64)

    int = long

    def bool(self):
        return self.to(bool_)

    def cpu(self):
        return self

    contiguous = cpu

    def clone(self):
        return _map(lambda a: a, lambda g, a, o: g, self)

    def detach(self):
        return Tensor(self.store, self.shape, self.dtype, self.places)

    def requires_grad_(self, on=True):
        if not self.dtype.is_floating_point:
            raise RuntimeError("only Tensors of floating point dtype can require grads")
        self.requires_grad = on
        return self

    # --- views ---
    def _view(self, picked, shape):
        """The values at these of my places, sharing my memory."""
        view = Tensor(self.store, shape, self.dtype, [self.places[p] for p in picked])

        def pull(g):
            back = [0.0] * self.numel()
            for p, x in zip(picked, g, strict=True):
                back[p] += x
            return (back,)

        return _tracked(view, (self,), pull)

    def expand(self, *shape):
        shape = [*_flat(shape)]
        lead = len(shape) - self.ndim
        shape = [self.shape[k - lead] if n == -1 else n for k, n in enumerate(shape)]
        return self._view(_spread(self.shape, tuple(shape)), shape)

    def expand_as(self, other):
        return self.expand(*other.shape)

    def view(self, *shape):
        shape = [*_flat(shape)]
        if -1 in shape:
            known = -_size(shape) or 1
            shape[shape.index(-1)] = self.numel() // known
        if _size(shape) != self.numel():
            raise RuntimeError(f"shape {shape} is invalid for size {self.numel()}")
        return self._view(range(self.numel()), shape)

    reshape = view

    def flatten(self):
        return self.view(-1)

    ravel = flatten

    def unsqueeze(self, dim):
        dim = _dim(dim, self.ndim + 1)
        return self.view(*self.shape[:dim], 1, *self.shape[dim:])

    def squeeze(self, dim=None):
        kept = enumerate(self.shape)
        if dim is None:
            return self.view(*[n for _, n in kept if n != 1])
        dim = _dim(dim, self.ndim)
        return self.view(*[n for k, n in kept if k != dim or n != 1])

    def transpose(self, a, b):
        shape, order = [*self.shape], [*range(self.ndim)]
        order[a], order[b] = order[b], order[a]
        steps = [_size(shape[k + 1 :]) for k in range(self.ndim)]
        spots = product(*(range(shape[k]) for k in order))
        picked = [
            sum(i * steps[k] for i, k in zip(s, order, strict=True)) for s in spots
        ]
        return self._view(picked, [shape[k] for k in order])

    def t(self):
        return self.T

    def flip(self, *dims):
        dims = {_dim(d, self.ndim) for d in _flat(dims)}
        rows = [range(n)[:: -1 if k in dims else 1] for k, n in enumerate(self.shape)]
        steps = [_size(self.shape[k + 1 :]) for k in range(self.ndim)]
        spots = product(*rows)
        picked = [sum(i * n for i, n in zip(s, steps, strict=True)) for s in spots]
        return self._view(picked, self.shape).clone()

    def split(self, size, dim=0):
        if dim:
            raise NotHere("Tensor.split along another dimension")
        return [self[i : i + size] for i in range(0, len(self), size)]

    # --- indexing ---
    def _picked(self, key):
        """Places of my values that a key selects, their shape, and if it is a view."""
        key = key if isinstance(key, tuple) else (key,)
        used = sum(
            k.ndim if isinstance(k, Tensor) and k.dtype is bool_ else 1
            for k in key
            if k is not None and k is not Ellipsis
        )
        if Ellipsis in [k for k in key if not isinstance(k, Tensor)]:
            at = [k is Ellipsis for k in key].index(True)
            key = key[:at] + (slice(None),) * (self.ndim - used) + key[at + 1 :]
        elif used < self.ndim:
            key = (*key, *[slice(None)] * (self.ndim - used))
        elif used > self.ndim:
            raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
        parts, shape, lists, dim = [], [], [], 0
        for k in key:
            k = tensor(k) if isinstance(k, list) else k
            if k is None:
                shape.append(1)
            elif isinstance(k, Tensor) and k.dtype is bool_ and k.ndim:
                if k.shape != self.shape[dim : dim + k.ndim]:
                    raise IndexError(
                        f"The shape of the mask {[*k.shape]} does not match the shape"
                        f" of the indexed tensor {[*self.shape]}"
                    )
                on = [p for p, v in enumerate(k.values) if v]
                step = _size(self.shape[dim + k.ndim :])
                lists.append((len(parts), len(shape), (len(on),)))
                parts.append([p * step for p in on])
                shape.append(None)
                dim += k.ndim
            elif isinstance(k, Tensor) and k.ndim:
                step, n = _size(self.shape[dim + 1 :]), self.shape[dim]
                lists.append((len(parts), len(shape), k.shape))
                parts.append([_place(int(i), n) * step for i in k.values])
                shape.append(None)
                dim += 1
            elif isinstance(k, slice):
                step = _size(self.shape[dim + 1 :])
                if k.step is not None and k.step < 0:
                    raise ValueError("step must be greater than zero")
                rows = range(self.shape[dim])[k]
                parts.append([i * step for i in rows])
                shape.append(len(rows))
                dim += 1
            else:
                step = _size(self.shape[dim + 1 :])
                parts.append([_place(int(k), self.shape[dim]) * step])
                dim += 1
        if not lists:
            return [sum(p) for p in product(*parts)], shape, True
        joint = broadcast_shapes(*(s for _, _, s in lists))
        one = [0] * _size(joint)
        for n, _, s in lists:
            one = [a + parts[n][p] for a, p in zip(one, _spread(s, joint), strict=True)]
        first = lists[0][0]
        adjacent = [n for n, _, _ in lists] == [*range(first, first + len(lists))]
        if not adjacent:
            raise NotHere("indices that are not adjacent")
        rest = [*parts[:first], one, *parts[first + len(lists) :]]
        at = shape.index(None)
        shape = [*shape[:at], *joint, *[n for n in shape[at:] if n is not None]]
        return [sum(p) for p in product(*rest)], shape, False

    def __getitem__(self, key):
        picked, shape, view = self._picked(key)
        got = self._view(picked, shape)
        if not view:
            got.store, got.places = got.values[:], range(len(got.places))
        return got

    def __setitem__(self, key, value):
        picked, shape, _ = self._picked(key)
        value = _tensor(value).to(self.dtype)
        spread = _spread(value.shape, tuple(shape))
        new = value.values
        if _grad_on[0] and (self.requires_grad or value.requires_grad):
            if self.is_leaf and self.requires_grad:
                raise RuntimeError(LEAF)
            old = Tensor(self.values[:], self.shape, self.dtype)
            old.requires_grad, old.inputs, old.pull = (
                self.requires_grad, self.inputs, self.pull
            )  # fmt: skip

            def pull(g):
                kept, given = list(g), [0.0] * value.numel()
                for p, s in zip(picked, spread, strict=True):
                    given[s] += g[p]
                    kept[p] = 0.0
                return kept, given

            _tracked(self, (old, value), pull)
        for p, s in zip(picked, spread, strict=True):
            self.store[self.places[p]] = new[s]

    def _become(self, other):
        """In place: my values and history become the other's."""
        if other.shape != self.shape:
            raise RuntimeError(
                f"output with shape {[*self.shape]} doesn't match the broadcast shape"
                f" {[*other.shape]}"
            )
        if _grad_on[0] and self.is_leaf and self.requires_grad:
            raise RuntimeError(LEAF)
        for p, v in zip(self.places, _cast(other.values, self.dtype), strict=True):
            self.store[p] = v
        self.requires_grad, self.inputs, self.pull = (
            other.requires_grad, other.inputs, other.pull
        )  # fmt: skip
        return self

    def __iadd__(self, other):
        return self._become(self + other)

    def __isub__(self, other):
        return self._become(self - other)

    def __imul__(self, other):
        return self._become(self * other)

    def __itruediv__(self, other):
        return self._become(self / other)

    def copy_(self, other):
        return self._become(_tensor(other).expand(*self.shape))

    def zero_(self):
        return self._become(zeros_like(self))

    def masked_fill(self, mask, value):
        return where(mask, value, self)

    def gather(self, dim, index):
        if index.ndim != self.ndim:
            raise RuntimeError("Index tensor must have as many dimensions as input")
        steps = [_size(self.shape[k + 1 :]) for k in range(self.ndim)]
        dim, picked = _dim(dim, self.ndim), []
        spots = product(*map(range, index.shape))
        for spot, i in zip(spots, index.values, strict=True):
            row = [*spot[:dim], _place(i, self.shape[dim]), *spot[dim + 1 :]]
            picked.append(sum(a * b for a, b in zip(row, steps, strict=True)))
        return self._view(picked, index.shape).clone()

    def repeat_interleave(self, n):
        each = n.values if isinstance(n, Tensor) else [n] * self.numel()
        picked = [p for p, k in enumerate(each) for _ in range(k)]
        return self.flatten()._view(picked, [len(picked)]).clone()

    # --- gradients ---
    def backward(self, gradient=None):
        seed = gradient.values if gradient is not None else None
        found = _gradients(self, seed)
        for leaf, g in found.values():
            if leaf.is_leaf and leaf.requires_grad:
                new = Tensor(_cast(g, leaf.dtype), leaf.shape, leaf.dtype)
                leaf.grad = new if leaf.grad is None else leaf.grad + new

    def __array__(self, *_, **__):
        raise NotHere("Tensor.numpy")


def _dim(dim, n):
    """A dimension counted from the front."""
    n = max(n, 1)
    if not -n <= dim < n:
        raise IndexError(
            "Dimension out of range (expected to be in range of"
            f" [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def _place(i, n):
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension with size {n}")
    return i % n


def _flat(shape):
    one = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return [int(n) for n in one]


def _nest(values, shape):
    if not shape:
        return values[0]
    step = _size(shape[1:])
    return [
        _nest(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])
    ]


def _tracked(out, inputs, pull):
    wanted = _grad_on[0] and any(x.requires_grad for x in inputs)
    if wanted and out.dtype.is_floating_point:
        out.requires_grad, out.inputs, out.pull = True, inputs, pull
    return out


def _gradients(root, seed=None):
    """The gradients of a scalar at every tensor it was made of, by id."""
    if not root.requires_grad:
        raise RuntimeError(
            "element 0 of tensors does not require grad and does not have a grad_fn"
        )
    if seed is None and root.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    order, seen, todo = [], set(), [(root, False)]
    while todo:
        node, done = todo.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo += [(x, False) for x in node.inputs if x.requires_grad]
    found = {id(root): (root, [1.0] if seed is None else [*seed])}
    for node in reversed(order):
        if node.pull is None or id(node) not in found:
            continue
        for x, g in zip(node.inputs, node.pull(found[id(node)][1]), strict=True):
            if x.requires_grad and g is not None:
                old = found[id(x)][1] if id(x) in found else None
                new = g if old is None else [a + b for a, b in zip(old, g, strict=True)]
                found[id(x)] = (x, new)
    return found


# --- making tensors ---


def tensor(data, dtype=None, requires_grad=False, device=None):
    shape, flat = [], [data]
    while flat and all(
        isinstance(x, (list, tuple)) or (isinstance(x, Tensor) and x.ndim) for x in flat
    ):
        sizes = {len(x) for x in flat}
        if len(sizes) != 1:
            raise ValueError("expected sequence of equal length")
        shape.append(sizes.pop())
        flat = [y for x in flat for y in x]
    flat = [x.item() if isinstance(x, Tensor) else x for x in flat]
    for x in flat:
        if not isinstance(x, (int, float)):
            raise TypeError(f"a tensor cannot hold {type(x).__name__}")
    if dtype is None:
        if isinstance(data, Tensor):
            dtype = data.dtype
        else:
            kinds = {KINDS.get(type(x), _default[0]) for x in flat}
            dtype = max(kinds or {_default[0]}, key=lambda d: d.rank)
    made = Tensor(_cast(flat, dtype), shape, dtype)
    return made.requires_grad_() if requires_grad else made


as_tensor = tensor


def _tensor(x):
    """A tensor of an operand; a plain number gives way to a tensor's type."""
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, (bool, int, float)):
        raise TypeError(f"not a tensor: {type(x).__name__}")
    made = Tensor([x], (), KINDS.get(type(x), float64))
    made.weak = True
    return made


def full(size, value, dtype=None, requires_grad=False, device=None):
    value = value.item() if isinstance(value, Tensor) else value
    size = (size,) if isinstance(size, int) else tuple(size)
    d = dtype or KINDS.get(type(value), _default[0])
    made = Tensor(_cast([value] * _size(size), d), size, d)
    return made.requires_grad_() if requires_grad else made


def zeros(*size, dtype=None, **more):
    return full(_flat(size), 0.0, dtype or _default[0], **more)


def ones(*size, dtype=None, **more):
    return full(_flat(size), 1.0, dtype or _default[0], **more)


def empty(*size, dtype=None, **more):
    return zeros(*size, dtype=dtype, **more)


def full_like(x, value, dtype=None, **more):
    return full(x.shape, value, dtype or x.dtype, **more)


def zeros_like(x, dtype=None, **more):
    return full(x.shape, 0.0, dtype or x.dtype, **more)


def ones_like(x, dtype=None, **more):
    return full(x.shape, 1.0, dtype or x.dtype, **more)


def arange(start, end=None, step=1, dtype=None, device=None):
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (
        x.item() if isinstance(x, Tensor) else x for x in (start, end, step)
    )
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = max(0, math.ceil((end - start) / step))
    d = dtype or (int64 if whole else _default[0])
    return Tensor(_cast([start + i * step for i in range(count)], d), (count,), d)


def linspace(start, end, steps, dtype=None):
    d = dtype or _default[0]
    gap = (end - start) / max(steps - 1, 1)
    return Tensor(_cast([start + i * gap for i in range(steps)], d), (steps,), d)


def eye(n, dtype=None):
    d = dtype or _default[0]
    return Tensor(_cast([i == j for i in range(n) for j in range(n)], d), (n, n), d)


class Generator:
    def __init__(self, device=None):
        self.dice = random.Random(0)

    def manual_seed(self, seed):
        self.dice.seed(seed)
        return self


_dice = Generator()


def manual_seed(seed):
    return _dice.manual_seed(seed)


def _random(draw):
    def made(*size, generator=None, dtype=None, requires_grad=False):
        d, size = dtype or _default[0], _flat(size)
        dice = (generator or _dice).dice
        out = Tensor(_cast([draw(dice) for _ in range(_size(size))], d), size, d)
        return out.requires_grad_() if requires_grad else out

    return made


rand = _random(lambda dice: dice.random())
randn = _random(lambda dice: dice.gauss(0, 1))


def randint(low, high, size, generator=None, dtype=None):
    dice = (generator or _dice).dice
    values = [dice.randrange(low, high) for _ in range(_size(size))]
    return Tensor(_cast(values, dtype or int64), size, dtype or int64)


# --- one by one ---


def _joint(inputs):
    """The type of a result, as torch promotes: numbers and 0-d tensors give way."""
    best = None
    for level in (
        [x for x in inputs if x.ndim],
        [x for x in inputs if not x.ndim and not x.weak],
        [x for x in inputs if x.weak],
    ):
        top = max((x.dtype for x in level), key=lambda d: d.rank, default=None)
        if top and (best is None or min(top.rank, 2) > min(best.rank, 2)):
            best = _default[0] if top.rank > 1 and level[0].weak else top
    return best


def _map(f, pull, *inputs, out=None):
    """f of the inputs, one by one; `pull` turns its gradient into theirs."""
    inputs = tuple(_tensor(x) for x in inputs)
    shape = broadcast_shapes(*(x.shape for x in inputs))
    d = out or _joint(inputs)
    spread = [_spread(x.shape, shape) for x in inputs]
    rows = [
        x.values if isinstance(s, range) else [x.values[p] for p in s]
        for x, s in zip(inputs, spread, strict=True)
    ]
    if d is float32 and out is None:  # numbers take the type before they are used
        rows = [
            _cast(r, d) if x.dtype is not bool_ and x.dtype is not d else r
            for x, r in zip(inputs, rows, strict=True)
        ]
    made = Tensor(_cast([f(*v) for v in zip(*rows, strict=True)], d), shape, d)
    if pull is None:
        return made

    def back(g):
        pulls = pull if isinstance(pull, tuple) else (pull,)
        gradients = []
        for x, s, way in zip(inputs, spread, pulls, strict=True):
            if way is None or not x.requires_grad:
                gradients.append(None)
                continue
            each = [way(*v) for v in zip(g, *rows, made.values, strict=True)]
            if isinstance(s, range):
                gradients.append(each)
                continue
            total = [0.0] * x.numel()
            for p, v in zip(s, each, strict=True):
                total[p] += v
            gradients.append(total)
        return gradients

    return _tracked(made, inputs, back)


def _divide(a, b):
    if b:
        return a / b
    return nan if not a or a != a else math.copysign(inf, a) * math.copysign(1.0, b)


def _power(a, b):
    try:
        got = a**b
        return nan if isinstance(got, complex) else got
    except ZeroDivisionError:
        return inf
    except OverflowError:
        return inf


def _exp(a):
    return math.exp(a) if a < 709.7 else (a if a != a else inf)


def _log(a):
    return math.log(a) if a > 0 else (-inf if a == 0 else nan)


def _safe(f, domain=nan, over=inf):
    def safe(a):
        try:
            return f(a)
        except ValueError:
            return domain
        except OverflowError:
            return over

    return safe


def _sigmoid(a):
    return 1 / (1 + _exp(-a)) if a >= 0 else _exp(a) / (1 + _exp(a))


def _least(a, b):
    return nan if a != a or b != b else min(a, b)


def _most(a, b):
    return nan if a != a or b != b else max(a, b)


def _tie(better):
    return (
        lambda g, a, b, o: g / 2 if a == b else (g if better(a, b) else 0.0),
        lambda g, a, b, o: g / 2 if a == b else (g if better(b, a) else 0.0),
    )


def _float_out(x):
    return x.dtype if x.dtype.is_floating_point else _default[0]


def _unary(f, pull=None):
    return lambda x: _map(f, pull, x, out=_float_out(x))


def add(a, b):
    return _map(lambda a, b: a + b, (lambda g, a, b, o: g, lambda g, a, b, o: g), a, b)


def sub(a, b):
    return _map(lambda a, b: a - b, (lambda g, a, b, o: g, lambda g, a, b, o: -g), a, b)


def mul(a, b):
    return _map(
        lambda a, b: a * b, (lambda g, a, b, o: g * b, lambda g, a, b, o: g * a), a, b
    )


def div(a, b):
    a, b = _tensor(a), _tensor(b)
    d = _joint((a, b))
    return _map(
        _divide,
        (lambda g, a, b, o: _divide(g, b), lambda g, a, b, o: -_divide(g * o, b)),
        a if d.is_floating_point else a.to(_default[0]),
        b,
    )


def pow_(a, b):
    def base(g, a, b, o):
        return g * (b * _power(a, b - 1)) if b else 0.0

    return _map(_power, (base, lambda g, a, b, o: g * o * _log(a)), a, b)


def minimum(a, b):
    return _map(_least, _tie(lambda a, b: a < b), a, b)


def maximum(a, b):
    return _map(_most, _tie(lambda a, b: a > b), a, b)


def where(condition, a=None, b=None):
    if a is None:
        return tuple(nonzero(condition).T)
    a, b = _tensor(a), _tensor(b)

    def taken(g, c, a, b, o):
        return g if c else 0.0

    def left(g, c, a, b, o):
        return 0.0 if c else g

    def choose(c, a, b):
        return a if c else b

    pulls = (None, taken, left)
    return _map(choose, pulls, condition, a, b, out=_joint((a, b)))


def clamp(x, min=None, max=None):
    def inside(g, a, low, high, o):
        return g if low <= a <= high else 0.0

    low = -inf if min is None else min
    high = inf if max is None else max
    kind = [x, *(v for v in (min, max) if v is not None)]
    d = _joint([_tensor(v) for v in kind])

    def cut(a, low, high):
        at_least = low if a < low else a
        return a if a != a else high if at_least > high else at_least

    return _map(cut, (inside, None, None), x, low, high, out=d)


exp = _unary(_exp, lambda g, a, o: g * o)
log = _unary(_log, lambda g, a, o: _divide(g, a))
expm1 = _unary(_safe(math.expm1), lambda g, a, o: g * (o + 1))
log1p = _unary(_safe(math.log1p), lambda g, a, o: g / (1 + a))
sqrt = _unary(_safe(math.sqrt), lambda g, a, o: _divide(g, 2 * o))
sigmoid = _unary(_sigmoid, lambda g, a, o: g * o * (1 - o))
tanh = _unary(math.tanh, lambda g, a, o: g * (1 - o * o))
sin = _unary(math.sin, lambda g, a, o: g * math.cos(a))
cos = _unary(math.cos, lambda g, a, o: -g * math.sin(a))
erf = _unary(math.erf, lambda g, a, o: g * 2 / math.sqrt(pi) * _exp(-a * a))
ndtr = _unary(
    lambda a: 0.5 * math.erfc(-a / math.sqrt(2)),
    lambda g, a, o: g * _exp(-a * a / 2) / math.sqrt(2 * pi),
)
logsigmoid = _unary(
    lambda a: -math.log1p(_exp(-a)) if a > 0 else a - math.log1p(_exp(a)),
    lambda g, a, o: g * _sigmoid(-a),
)


def abs_(x):
    return _map(
        lambda a: a if a >= 0 else -a, lambda g, a, o: g * ((a > 0) - (a < 0)), x
    )


def neg(x):
    return _map(lambda a: -a, lambda g, a, o: -g, x)


def square(x):
    return _map(lambda a: a * a, lambda g, a, o: 2 * g * a, x)


def sign(x):
    return _map(lambda a: (a > 0) - (a < 0), lambda g, a, o: 0.0, x)


def relu(x):
    return _map(lambda a: a if a > 0 or a != a else 0.0, _positive, x)


def _positive(g, a, o):
    return g if a > 0 else 0.0


def floor(x):
    return _map(math.floor, lambda g, a, o: 0.0, x)


def round_(x, decimals=0):
    return _map(lambda a: round(a, decimals), lambda g, a, o: 0.0, x)


def _test(f):
    return lambda *x: _map(f, None, *x, out=bool_)


eq, ne = _test(lambda a, b: a == b), _test(lambda a, b: a != b)
lt, le = _test(lambda a, b: a < b), _test(lambda a, b: a <= b)
gt, ge = _test(lambda a, b: a > b), _test(lambda a, b: a >= b)
isnan, isfinite = _test(lambda a: a != a), _test(math.isfinite)
isinf = _test(math.isinf)
logical_not = _test(lambda a: not a)
logical_and, logical_or = _test(lambda a, b: a and b), _test(lambda a, b: a or b)


def _bits(f):
    def made(a, b):
        a, b = _tensor(a), _tensor(b)
        if max(a.dtype.rank, b.dtype.rank) > 1:
            raise RuntimeError("bitwise operation not implemented for floats")
        return _map(f, None, a, b)

    return made


def isin(x, among):
    known = set(_tensor(among).values) if not isinstance(among, list) else set(among)
    return _map(lambda a: a in known, None, x, out=bool_)


# --- reductions ---


def _rows(x, dim, keepdim):
    """Places of each row along `dim` (all of them for None), and the shape left."""
    if dim is None:
        shape = (1,) * x.ndim if keepdim else ()
        return [range(x.numel())], shape
    if isinstance(dim, (tuple, list)):
        if len(dim) > 1:
            raise NotHere("a reduction over several dimensions")
        dim = dim[0]
    dim = _dim(dim, x.ndim)
    if x.ndim == 0:
        return [range(1)], ()
    step, n = _size(x.shape[dim + 1 :]), x.shape[dim]
    rows = [
        range(a * n * step + b, (a + 1) * n * step + b, step)[:n]
        for a in range(_size(x.shape[:dim]))
        for b in range(step)
    ]
    left = [*x.shape]
    left[dim : dim + 1] = [1] if keepdim else []
    return rows, tuple(left)


def _reduce(f, pull, kind=lambda x: x.dtype, typed=False):
    """A reduction of rows by f; if `typed`, f gets the type of the values."""

    def made(x, dim=None, keepdim=False, dtype=None):
        x = x if dtype is None else x.to(dtype)
        rows, shape = _rows(x, dim, keepdim)
        values, d = x.values, kind(x)
        more = (x.dtype,) if typed else ()
        out = [f([values[p] for p in row], *more) for row in rows]
        result = Tensor(_cast(out, d), shape, d)

        def back(g):
            total = [0.0] * x.numel()
            for row, gradient, o in zip(rows, g, out, strict=True):
                for p, v in zip(
                    row, pull(gradient, [values[p] for p in row], o), strict=True
                ):
                    total[p] = v
            return (total,)

        return _tracked(result, (x,), back) if pull else result

    return made


def _whole(x):
    return x.dtype if x.dtype.is_floating_point else int64


def _rounded(value, d):
    """A value rounded to its type."""
    return array("f", [value])[0] if d is float32 else value


def _mean(values, d=None):
    if not values:
        return nan
    return _rounded(_sum(values, d) / len(values), d)


def _sum(values, d=None):
    """The sum, one value after another: in float32 eight times 0.1 is 0.80000007."""
    total = 0
    for v in values:
        total = _rounded(total + v, d)
    return total


def _variance(values, correction, d):
    n, m = len(values), _mean(values, d)
    return (
        _divide(_sum([(v - m) ** 2 for v in values]), n - correction)
        if n > correction
        else nan
    )


def _spread_of(correction, root):
    def f(values, d):
        v = _variance(values, correction, d)
        return math.sqrt(v) if root and v == v else v

    def pull(g, values, o):
        n, m = len(values), _mean(values)
        if root and o == 0:  # torch's rule where the root has no slope
            return [0.0] * n
        scale = (
            _divide(g, (n - correction) * (o if root else 0.5))
            if n > correction
            else nan
        )
        return [scale * (v - m) for v in values]

    return _reduce(f, pull, typed=True)


def std(x, dim=None, unbiased=True, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _spread_of(int(unbiased) if correction is None else correction, True)(
        x, dim, keepdim
    )


def var(x, dim=None, unbiased=True, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _spread_of(int(unbiased) if correction is None else correction, False)(
        x, dim, keepdim
    )


def _real(x):
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be a floating point"
            f" dtype. Got: {x.dtype}"
        )
    return x.dtype


def _shares(g, values, o):
    ties = [v == o for v in values]
    count = _sum(ties) or 1
    return [g / count if tie else 0.0 for tie in ties]


sum_ = _reduce(_sum, lambda g, values, o: [g] * len(values), _whole, typed=True)
mean = _reduce(
    _mean, lambda g, values, o: [g / len(values)] * len(values), _real, typed=True
)
any_ = _reduce(any, None, lambda x: bool_)
all_ = _reduce(all, None, lambda x: bool_)


def _others(g, values, o):
    return [
        g * math.prod(v for k, v in enumerate(values) if k != j)
        for j in range(len(values))
    ]


prod = _reduce(math.prod, _others, _whole)


def _extreme(pick, better):
    def value(values):
        if not values:
            raise RuntimeError(
                "max(): Expected reduction dim to be specified for numel() == 0"
            )
        return next((v for v in values if v != v), None) or pick(values)

    whole = _reduce(value, _shares)

    def made(x, dim=None, keepdim=False):
        if isinstance(dim, Tensor):
            return better(x, dim)
        if dim is None:
            return whole(x)
        index = (argmax if pick is max else argmin)(x, dim, keepdim)
        at = index if keepdim else index.unsqueeze(dim)
        got = x.gather(dim, at)
        return _Pair(got if keepdim else got.squeeze(dim), index)

    return made


class _Pair(tuple):
    def __new__(cls, values, indices):
        return super().__new__(cls, (values, indices))

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])


_arg = lambda pick: _reduce(  # noqa: E731
    lambda values: values.index(pick(values)), None, lambda x: int64
)
argmax, argmin = _arg(max), _arg(min)
amax, amin = _reduce(max, _shares), _reduce(min, _shares)
max_, min_ = _extreme(max, maximum), _extreme(min, minimum)


def logsumexp(x, dim, keepdim=False):
    def f(values):
        top = max(values)
        if not math.isfinite(top):
            return top
        return top + math.log(math.fsum(_exp(v - top) for v in values))

    def pull(g, values, o):
        return [g * _exp(v - o) for v in values]

    return _reduce(f, pull)(x, dim, keepdim)


def log_softmax(x, dim=-1, dtype=None):
    x = x if dtype is None else x.to(dtype)
    return x - logsumexp(x, dim, keepdim=True)


def softmax(x, dim=-1, dtype=None):
    return exp(log_softmax(x, dim, dtype))


def norm(x):
    return sqrt(sum_(square(x)))


def cumsum(x, dim):
    rows, _ = _rows(x, dim, True)
    values, out, d = x.values, [0] * x.numel(), _whole(x)
    for row in rows:
        for p, v in zip(row, accumulate(values[p] for p in row), strict=True):
            out[p] = v

    def back(g):
        total = [0.0] * x.numel()
        for row in rows:
            for p, v in zip(
                reversed(row), accumulate(g[p] for p in reversed(row)), strict=True
            ):
                total[p] = v
        return (total,)

    return _tracked(Tensor(_cast(out, d), x.shape, d), (x,), back)


def argsort(x, dim=-1, descending=False, stable=False):
    rows, _ = _rows(x, dim, True)
    out = [0] * x.numel()
    for row in rows:
        order = sorted(
            range(len(row)), key=lambda k: x.values[row[k]], reverse=descending
        )
        for p, k in zip(row, order, strict=True):
            out[p] = k
    return Tensor(out, x.shape, int64)


def sort(x, dim=-1, descending=False, stable=False):
    order = argsort(x, dim, descending)
    return _Pair(x.gather(dim, order), order)


def topk(x, k, dim=-1, largest=True):
    if x.ndim != 1:
        raise NotHere("topk of several rows")
    values, order = sort(x, descending=largest)
    return _Pair(values[:k], order[:k])


def unique(x, return_counts=False, return_inverse=False):
    if return_inverse:
        raise NotHere("unique(return_inverse=True)")
    names = sorted(set(x.values))
    made = Tensor(names, (len(names),), x.dtype)
    if not return_counts:
        return made
    return made, tensor([x.values.count(v) for v in names])


def bincount(x):
    return tensor([x.values.count(v) for v in range(max(x.values, default=-1) + 1)])


def nonzero(x):
    spots = product(*map(range, x.shape))
    found = [s for s, v in zip(spots, x.values, strict=True) if v]
    return Tensor([i for s in found for i in s], (len(found), x.ndim), int64)


# --- several ---


def stack(tensors, dim=0):
    tensors = [x.unsqueeze(dim) for x in map(_tensor, tensors)]
    return cat(tensors, dim)


def cat(tensors, dim=0):
    tensors = tuple(tensors)
    dim = _dim(dim, tensors[0].ndim)
    before = _size(tensors[0].shape[:dim])
    blocks = [_size(x.shape[dim:]) for x in tensors]
    d, out, places = max((x.dtype for x in tensors), key=lambda d: d.rank), [], []
    for a in range(before):
        for n, (x, size) in enumerate(zip(tensors, blocks, strict=True)):
            out += x.values[a * size : (a + 1) * size]
            places += [(n, p) for p in range(a * size, (a + 1) * size)]
    shape = [*tensors[0].shape]
    shape[dim] = _sum([x.shape[dim] for x in tensors])

    def back(g):
        totals = [[0.0] * x.numel() for x in tensors]
        for (n, p), v in zip(places, g, strict=True):
            totals[n][p] = v
        return totals

    return _tracked(Tensor(_cast(out, d), shape, d), tensors, back)


def matmul(a, b):
    if a.ndim > 2 or b.ndim > 2 or not a.ndim or not b.ndim:
        raise NotHere("matmul of more than two dimensions")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got:"
            f" {a.dtype} != {b.dtype}"
        )
    left = a if a.ndim == 2 else a[None]
    right = b if b.ndim == 2 else b[:, None]
    if left.shape[1] != right.shape[0]:
        raise RuntimeError(f"size mismatch, got {[*a.shape]} and {[*b.shape]}")
    made = (left[:, :, None] * right[None]).sum(1)
    if a.ndim == 1:
        made = made[0]
    return made[..., 0] if b.ndim == 1 else made


dot = matmul


def outer(a, b):
    return a[:, None] * b[None]


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{a.dtype} did not match {b.dtype}")
    shape = broadcast_shapes(a.shape, b.shape)
    pairs = zip(_spread(a.shape, shape), _spread(b.shape, shape), strict=True)
    for p, q in pairs:
        x, y = a.values[p], b.values[q]
        near = x == y or (x != x and y != y and equal_nan)
        if not near and not math.fabs(x - y) <= atol + rtol * math.fabs(y):
            return False
    return True


def equal(a, b):
    return a.shape == b.shape and a.values == b.values


def assert_close(a, b, rtol=None, atol=None, **_):
    tight = {float64: (1e-7, 1e-7), float32: (1.3e-6, 1e-5)}.get(a.dtype, (0, 0))
    rtol, atol = (
        t if v is None else v for t, v in zip(tight, (rtol, atol), strict=True)
    )
    if a.shape != b.shape or a.dtype is not b.dtype:
        raise AssertionError("Tensor-likes are not of one shape and type")
    if not allclose(a, b, rtol, atol):
        raise AssertionError("Tensor-likes are not close!")


def grad(outputs, inputs, **_):
    single = isinstance(inputs, Tensor)
    inputs = (inputs,) if single else inputs
    found = _gradients(outputs)
    return tuple(
        Tensor(_cast(found[id(x)][1], x.dtype), x.shape, x.dtype) for x in inputs
    )


class no_grad:
    def __enter__(self):
        self.old, _grad_on[0] = _grad_on[0], False

    def __exit__(self, *_):
        _grad_on[0] = self.old

    def __call__(self, f):
        def quiet(*args, **more):
            with no_grad():
                return f(*args, **more)

        return quiet


inference_mode = no_grad


def is_tensor(x):
    return isinstance(x, Tensor)


def pad(x, widths, value=0.0):
    if x.ndim != 2 or len(widths) != 2:
        raise NotHere("pad of another shape")
    sides = [full((len(x), n), value, x.dtype) for n in widths]
    return cat([sides[0], x, sides[1]], 1)


# --- names ---

_SHADOWED = {"bool", "sum", "any", "all", "max", "min", "abs", "round", "pow"}

_METHODS = """
add sub mul div pow minimum maximum where clamp exp log expm1 log1p sqrt
sigmoid tanh sin cos erf abs neg square sign relu floor round eq ne lt le gt ge isnan
isfinite isinf logical_not logical_and logical_or sum mean std var any all prod max min
argmax argmin amax amin logsumexp log_softmax softmax norm cumsum argsort sort topk
unique bincount nonzero matmul dot outer allclose equal"""
for _name in _METHODS.split():
    setattr(Tensor, _name, globals().get(f"{_name}_") or globals()[_name])


def _tensor_where(self, condition, other):
    return where(condition, self, other)


Tensor.where = _tensor_where


def _floordiv(a, b):
    def none(*_):
        raise RuntimeError("derivative for aten::floor_divide is not implemented")

    return _map(lambda a, b: a // b if b else _divide(a, b), (none, none), a, b)


def _mod(a, b):
    pulls = (lambda g, a, b, o: g, None)
    return _map(lambda a, b: a % b if b else nan, pulls, a, b)


Tensor.clip, Tensor.absolute = clamp, abs_
clip = clamp
for _name, _f in {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "pow": pow_, "matmul": matmul,
    "and": _bits(lambda a, b: a & b), "or": _bits(lambda a, b: a | b),
    "xor": _bits(lambda a, b: a ^ b),
    "floordiv": _floordiv, "mod": _mod,
}.items():  # fmt: skip

    def _forward(self, other, f=_f):
        if not isinstance(other, (Tensor, bool, int, float)):
            return NotImplemented
        return f(self, other)

    def _backward(self, other, f=_f):
        if not isinstance(other, (Tensor, bool, int, float)):
            return NotImplemented
        return f(_tensor(other), self)

    setattr(Tensor, f"__{_name}__", _forward)
    setattr(Tensor, f"__r{_name}__", _backward)
for _name, _f in dict(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge).items():

    def _compare(self, other, f=_f):
        if not isinstance(other, (Tensor, bool, int, float)):
            return NotImplemented
        return f(self, other)

    setattr(Tensor, f"__{_name}__", _compare)
Tensor.__neg__ = neg
Tensor.__pos__ = lambda self: self
Tensor.__abs__ = abs_
Tensor.__invert__ = lambda self: (
    logical_not(self) if self.dtype is bool_ else _map(lambda a: ~a, None, self)
)


def _part(name, **names):
    module = ModuleType(f"torch.{name}")
    module.__dict__.update(names)
    module.__getattr__ = lambda attribute: _missing(f"{name}.{attribute}")
    sys.modules[f"torch.{name}"] = module
    return module


def _missing(name):
    if name.rpartition(".")[2].startswith("__") and name != "__version__":
        raise AttributeError(name)  # names that Python itself looks up in modules
    raise NotHere(f"torch.{name}")


testing = _part("testing", assert_close=assert_close)
special = _part("special", ndtr=ndtr, expm1=expm1, log1p=log1p, logsumexp=logsumexp)
autograd = _part("autograd", grad=grad)
_functional = _part(
    "nn.functional", logsigmoid=logsigmoid, softmax=softmax, log_softmax=log_softmax,
    relu=relu, sigmoid=sigmoid, pad=pad,
)  # fmt: skip
nn = _part("nn", functional=_functional)
flip = Tensor.flip
gather, split, transpose = Tensor.gather, Tensor.split, Tensor.transpose
repeat_interleave, squeeze = Tensor.repeat_interleave, Tensor.squeeze
unsqueeze, flatten, reshape = Tensor.unsqueeze, Tensor.flatten, Tensor.reshape
masked_fill, detach, clone = Tensor.masked_fill, Tensor.detach, Tensor.clone


def __getattr__(name):
    if name in _SHADOWED:
        return globals()[f"{name}_"]
    return {"float": float32, "int": int64}.get(name) or _missing(name)
