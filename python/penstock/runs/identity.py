"""What a discipline in Python is: one hash of its values and of all code that they lead to.

Two objects have the same hash where their runs are the same, in any process. What is hashed:

    an object       its class, and the state that a copy of it gets: every run has a copy (`copy.deepcopy`)
    a class         its attributes and methods, and its bases
    a function      its bytecode without lines and comments, its defaults, the values that it encloses, and those of
                    the globals that it names
    a module        the attributes that code names, or all of them where the module is used as a whole
    the rest        by value

Code is followed through all modules but those of Python itself and of installed packages: these are their name and
version. Nothing is read from source files, so that a class of a notebook or of piped input is told as well as one in a
file, and so is what was changed after it was loaded.

What has no value of its own (an open file, a lock, an object of C), and code that reads what is outside of it (files,
the environment, `eval`), cannot be told: `UnidentifiedError`. Constructors may read files: what they leave in the
object is hashed. Not seen is what a method asks of a clock, of `random`, or, through a name that it makes up, of
`getattr`.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import functools
import hashlib
import importlib
import importlib.util
import re
import struct
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._files import sources
from penstock.errors import ScenarioError
from penstock.model.modules import installed
from penstock.model.own_file import watched
from penstock.runs.tasks import identity as scenario_identity
from penstock.runs.tasks import simulator

if TYPE_CHECKING:
    from penstock import _penstock
    from penstock.model.aqm import Aqm

#: Modules of Python whose functions and classes reach out of the program.
_OUTSIDE = frozenset(
    "_ctypes _io _socket ctypes fileinput genericpath glob http importlib io linecache nt ntpath os pathlib pkgutil "
    "posix posixpath runpy shutil socket sqlite3 subprocess tempfile urllib".split()
)
#: Builtin functions that do so, or that run code which no function names.
_OPAQUE = frozenset("__import__ breakpoint compile eval exec globals input open".split())
#: Functions of installed packages that read files: `numpy.loadtxt`, `pandas.read_csv`.
_READS = re.compile(r"read_\w+|load|loadtxt|genfromtxt|fromfile|memmap|open")
#: Attributes of a class that change nothing in what it does.
_ABOUT = frozenset(
    "__abstractmethods__ __annotate__ __annotate_func__ __annotations__ __annotations_cache__ __dataclass_params__ "
    "__dict__ __doc__ __firstlineno__ __match_args__ __module__ __orig_bases__ __parameters__ __qualname__ "
    "__static_attributes__ __type_params__ __weakref__ _abc_impl".split()
)
#: Methods that have done their work before a run begins.
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"))
_CODE_NUMBERS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags")
_CODE_NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
#: What C gives a class: told by its name.
_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)


class Identities:
    """Tells scenarios from each other: by what their text says and, with a discipline in Python, by its code.

    It is for one call: a class may be changed before the next.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}

    def of(self, made: _penstock.Scenario) -> tuple[str, str]:
        """Returns a scenario's text, and what its runs are, but for the seed. Raises `UnidentifiedError`."""
        text, canonical = made.canonical_json()
        return text, scenario_identity("\0".join((canonical, *map(self._own, disciplines(made)))))

    def _own(self, discipline: object) -> str:
        if id(discipline) not in self._known:
            with watched(type(discipline).__module__):
                self._known[id(discipline)] = discipline, identity(discipline)
        return self._known[id(discipline)][1]


def disciplines(made: _penstock.Scenario) -> list[Aqm]:
    """Returns the disciplines in Python of a scenario, with the values of their parameters."""
    return [found[0] for reverse in (False, True) if (found := made.user_aqm(reverse)) is not None]


class UnidentifiedError(ScenarioError):
    """Something that has no value that could be hashed; says what."""


def identity(thing: object) -> str:
    """Returns the hash of an object. Raises `UnidentifiedError`."""
    told = _Told(type(thing))
    place = (type(thing).__name__,)
    try:
        told.put(thing, place)
        told.constructors()
    except RecursionError:
        raise UnidentifiedError(f"{place[0]} holds what is nested too deeply") from None
    return told.digest()


class _Told:
    """Writes values into a hash, each object once: where it comes again, its number is written."""

    def __init__(self, root: type, seen: Mapping[int, tuple[int, object]] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._seen = dict(seen or {})
        self._root = root
        self._later: list[tuple[str, object, Sequence[str]]] = []
        self._constructing = False
        self._word("python", sys.version, simulator())

    def digest(self) -> str:
        """Returns the hash of all that was put."""
        return self._hash.hexdigest()

    def constructors(self) -> None:
        """Puts the constructors of the discipline's classes, which may read what they like."""
        self._constructing = True
        for name, method, place in self._later:
            self._word(name)
            self.put(method, place)

    def put(self, value: object, place: Sequence[str]) -> None:
        """Writes a value. `place`: the names that led to it, for the message."""
        if self._simple(value):
            return
        if type(value) in (tuple, frozenset):  # shared or not, as the compiler likes
            self._object(value, place)
            return
        if id(value) in self._seen:
            self._word("again", str(self._seen[id(value)][0]))
            return
        # Kept, so that no other object gets its address.
        self._seen[id(value)] = (len(self._seen), value)
        self._object(value, place)

    def _word(self, *words: str | bytes) -> None:
        for each in words:
            raw = each.encode("utf-8", "surrogatepass") if isinstance(each, str) else each
            self._hash.update(struct.pack("<Q", len(raw)) + raw)

    def _simple(self, value: Any) -> bool:
        """Writes what is a value and nothing else."""
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented:
            self._word(kind.__name__)
        elif kind in (str, bytes):
            self._word(kind.__name__, value)
        elif kind in (bool, int):
            self._word(kind.__name__, f"{value:x}")
        elif kind is float:
            self._word("float", struct.pack("<d", value))
        elif kind is complex:
            self._word("complex", struct.pack("<dd", value.real, value.imag))
        else:
            return False
        return True

    def _object(self, value: Any, place: Sequence[str]) -> None:
        by_kind: Sequence[tuple[Any, Callable[[Any, Sequence[str]], None]]] = (
            (types.CodeType, self._code),
            (types.ModuleType, self._module),
            (_DESCRIPTORS, self._descriptor),
            (enum.Enum, self._member),
            (types.MethodType, self._method),
            ((staticmethod, classmethod), lambda v, at: self._parts(at, v.__func__)),
            (property, lambda v, at: self._parts(at, v.fget, v.fset, v.fdel)),
            (functools.cached_property, lambda v, at: self._parts(at, v.func)),
            (functools._lru_cache_wrapper, lambda v, at: self._parts(at, v.__wrapped__, v.cache_parameters())),
        )
        named = self._named(value, place)
        if named:
            return
        for kinds, write in by_kind:
            if isinstance(value, kinds):
                self._word(type(value).__name__)
                write(value, place)
                return
        if isinstance(value, type):
            self._class(value, place)
        elif isinstance(value, types.FunctionType):
            self._function(value, place)
        elif type(value) in (tuple, list):
            self._word(type(value).__name__, str(len(value)))
            for i, each in enumerate(value):
                self.put(each, (*place, str(i)))
        elif type(value) is dict or isinstance(value, types.MappingProxyType):
            self._mapping(value, place)
        elif isinstance(value, (set, frozenset)):
            self._set(value, place)
        else:
            self._instance(value, place)

    def _named(self, value: Any, place: Sequence[str]) -> bool:
        """Writes a function or class of Python itself or of an installed package: its name and version."""
        if not isinstance(value, (type, types.BuiltinFunctionType)) and not callable(value):
            return False
        name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
        owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinFunctionType) else None
        if isinstance(owner, type):  # such as tuple.__new__
            self._word("of class", str(name))
            self.put(owner, place)
            return True
        if not isinstance(name, str) or not isinstance(module, str) or _found(module, name) is not value:
            return False
        version = _version(module)
        if version is None:
            return False
        top = module.partition(".")[0]
        opaque = (top == "builtins" and name in _OPAQUE) or top in _OUTSIDE
        if not self._constructing and (
            opaque or (top not in sys.stdlib_module_names and _READS.fullmatch(name.rpartition(".")[2]))
        ):
            raise UnidentifiedError(f"{_shown(place)}: {name} reaches out of the program")
        self._word("named", module, name, version)
        return True

    def _class(self, value: type, place: Sequence[str]) -> None:
        self._word("class", value.__name__)
        self.put(type(value), (*place, "metaclass"))
        for base in value.__bases__:
            self.put(base, (*place[:-1], base.__name__))
        members = set(value.__members__) if issubclass(value, enum.Enum) else set()
        for name in members and value.__members__:  # type: ignore[attr-defined]
            self._word(name)
            self.put(value.__members__[name].value, (*place, name))  # type: ignore[attr-defined]
        for name, each in sorted(vars(value).items()):
            if name == "__dataclass_fields__":
                self.put({field: dict(about.metadata) for field, about in each.items()}, (*place, name))
            elif name in _ABOUT or (members and (name in members or (name.startswith("_") and name.endswith("_")))):
                continue
            elif name in _CONSTRUCTORS and issubclass(self._root, value):
                self._later.append((name, each, (*place, name)))
            else:
                self._word(name)
                self.put(each, (*place, name))

    def _function(self, value: types.FunctionType, place: Sequence[str]) -> None:
        self._word("function")
        self._parts((*place, "defaults"), value.__defaults__, value.__kwdefaults__, dict(vars(value)))
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self._word("empty")
            else:
                self.put(content, (*place, name))
        self._code(value.__code__, place)
        for chain in sorted(set(_chains(value.__code__))):
            self._global(chain, value.__globals__, place)
        package = value.__globals__.get("__package__") or ""
        for name in sorted(set(_imports(value.__code__, package))):
            self._imported(name, place)

    def _code(self, value: types.CodeType, place: Sequence[str]) -> None:
        self._word("code", value.co_code, getattr(value, "co_exceptiontable", b""))
        for name in (*_CODE_NUMBERS, *_CODE_NAMES):
            self._word(name, repr(getattr(value, name)))
        self._word(str(len(value.co_consts)))
        for each in value.co_consts:
            # Not by `put`: constants may be shared or not, as the compiler likes.
            if isinstance(each, types.CodeType):
                self._code(each, place)
            elif isinstance(each, (tuple, frozenset)):
                self._word(_Told(self._root)._constant(each))
            elif not self._simple(each):
                self.put(each, place)

    def _constant(self, value: Any) -> str:
        """Returns the hash of a constant, in which sets have the order of their hashes."""
        if isinstance(value, (tuple, frozenset)):
            inner = [_Told(self._root)._constant(each) for each in value]
            self._word(type(value).__name__, *(sorted(inner) if isinstance(value, frozenset) else inner))
        elif not self._simple(value):
            self._word(type(value).__name__, repr(value))
        return self.digest()

    def _global(self, chain: tuple[str, ...], names: Mapping[str, Any], place: Sequence[str]) -> None:
        """Writes what code means by `name.attribute.attribute`: followed through modules, up to what is none."""
        first, *rest = chain
        self._word(first)
        builtins = names.get("__builtins__", {})
        builtins = vars(builtins) if isinstance(builtins, types.ModuleType) else builtins
        if first not in names and first not in builtins:
            self._word("missing")
            return
        value = names[first] if first in names else builtins[first]
        place = (*place, first)
        for name in rest:
            if not isinstance(value, types.ModuleType):
                break
            self._word(name)
            place = (*place, name)
            try:
                value = getattr(value, name)
            except AttributeError:
                self._word("missing")
                return
        self.put(value, place)

    def _imported(self, name: str, place: Sequence[str]) -> None:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise UnidentifiedError(f"{_shown(place)} imports {name}, which fails: {error}") from None
        self._word(name)
        self.put(module, (*place, name))

    def _module(self, value: types.ModuleType, place: Sequence[str]) -> None:
        name = value.__name__
        version = _version(name)
        if version is not None:
            if name.partition(".")[0] in _OUTSIDE and not self._constructing:
                raise UnidentifiedError(f"{_shown(place)}: the module {name} reaches out of the program")
            self._word(name, version)
            return
        file = getattr(value, "__file__", None)
        if file is not None and not file.endswith((".py", ".pyc", ".ipynb")):
            self._word(_content(file))
            return
        for each, content in sorted(vars(value).items()):
            if not (each.startswith("__") and each.endswith("__")):
                self._word(each)
                self.put(content, (*place, each))

    def _descriptor(self, value: Any, place: Sequence[str]) -> None:
        self._word(value.__name__)
        module = sys.modules.get(value.__objclass__.__module__)
        file = getattr(module, "__file__", None)
        if file is not None and _version(value.__objclass__.__module__) is None and not file.endswith(".py"):
            self._word(_content(file))  # a class of the user's own C

    def _member(self, value: enum.Enum, place: Sequence[str]) -> None:
        self._word(str(value.name))
        self._parts(place, type(value), value.value)

    def _method(self, value: types.MethodType, place: Sequence[str]) -> None:
        self._parts(place, value.__func__, value.__self__)

    def _parts(self, place: Sequence[str], *parts: object) -> None:
        for each in parts:
            self.put(each, place)

    def _mapping(self, value: Mapping[Any, Any], place: Sequence[str]) -> None:
        self._word(type(value).__name__, str(len(value)))
        for key, each in value.items():
            self.put(key, place)
            self.put(each, (*place, key if isinstance(key, str) else repr(key)[:30]))

    def _set(self, value: Iterable[Any], place: Sequence[str]) -> None:
        """Writes each element by itself, in the order of their hashes: a set has none, and Python's changes by
        process."""
        self._word("set")
        self.put(type(value), place)
        hashes = []
        for each in value:
            alone = _Told(self._root, self._seen)
            alone._constructing, alone._later = self._constructing, self._later
            alone.put(each, place)
            hashes.append(alone.digest())
        self._word(*sorted(hashes))
        self.put(dict(getattr(value, "__dict__", {})), place)

    def _instance(self, value: Any, place: Sequence[str]) -> None:
        """Writes the class, and the state that a copy gets."""
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            made: Any = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception:
            raise UnidentifiedError(f"{_shown(place)} is {_article(value)}, which has no value to know it by") from None
        if isinstance(made, str):
            if _version(type(value).__module__) is None:
                raise UnidentifiedError(f"{_shown(place)} is {_article(value)}, which has no value to know it by")
            self._word("global", made)
            self.put(type(value), place)
            return
        self._word("object")
        parts: list[Any] = [*made, None, None, None]
        function, arguments, state, items, pairs = parts[:5]
        self._parts(place, function, *arguments)
        for each in state if isinstance(state, tuple) and len(state) == 2 else (state,):
            if isinstance(each, dict) and all(isinstance(name, str) for name in each):
                self._word("state", str(len(each)))
                for name in sorted(each):
                    self._word(name)
                    self.put(each[name], (*place, name))
            else:
                self.put(each, place)
        self._parts(place, list(items or ()), list(pairs or ()))
        if hasattr(value, "__deepcopy__"):
            self.put(dict(getattr(value, "__dict__", {})), place)


def _shown(place: Sequence[str]) -> str:
    return ".".join(place)


def _article(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _found(module: str, name: str) -> object:
    """Returns what has that name in a module that is loaded."""
    at: object = sys.modules.get(module)
    for part in name.split("."):
        at = getattr(at, part, None)
    return at


def _version(module: str) -> str | None:
    """Returns the version of what is Python's own or installed; `None` for the user's own modules."""
    top = module.partition(".")[0]
    if top == "penstock":
        return f"{simulator()} {sources()}"
    if not installed(top):
        return None
    stdlib = top in sys.stdlib_module_names or top in sys.builtin_module_names
    return sys.version if stdlib else str(getattr(sys.modules.get(top), "__version__", ""))


def _content(file: str) -> bytes:
    return hashlib.sha256(Path(file).read_bytes()).digest()


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _nested(each)


def _chains(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Yields the globals that code names, each with the attributes that are asked of it at once."""
    for each in _nested(code):
        chain: list[str] = []
        for step in dis.get_instructions(each):
            if step.opname == "EXTENDED_ARG" or (step.opname == "PUSH_NULL" and chain):
                continue
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
                chain.append(step.argval)
                continue
            if chain:
                yield tuple(chain)
            chain = []
            if step.opname in (
                "LOAD_GLOBAL",
                "LOAD_NAME",
                "STORE_GLOBAL",
                "LOAD_CLASSDEREF",
                "LOAD_FROM_DICT_OR_GLOBALS",
            ):
                chain = [step.argval]


def _imports(code: types.CodeType, package: str) -> Iterator[str]:
    """Yields the modules that code imports itself."""
    for each in _nested(code):
        before: list[Any] = [0, None]
        for step in dis.get_instructions(each):
            if step.opname == "IMPORT_NAME":
                level, names = before[-2:]
                level = level if isinstance(level, int) else 0
                name = importlib.util.resolve_name("." * level + step.argval, package) if level else step.argval
                yield name
                for part in names or ():
                    if f"{name}.{part}" in sys.modules or _is_module(f"{name}.{part}"):
                        yield f"{name}.{part}"
            if step.opname != "EXTENDED_ARG":
                before.append(step.argval)


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
