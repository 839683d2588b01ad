"""Numba with less to do: the same machine code in less than two thirds of the time.

Four things that Numba does over and over while it compiles and that change nothing in the result are left out here:

* Machine code of helpers. Each one that a kernel pastes in becomes machine code of its own, which nobody calls; here code is made when
  its address is asked for (`OnDemand`).
* Passes over parallel loops. A loop is optimised on its own, in the frame that threads call, and in its kernel; here only in its kernel,
  which holds both (`_loop`).
* Comparing flags. Each of some ten thousand questions "is this overload known?" makes three dicts of all compiler flags (`_same`).
* Trying overloads. Each `+` in a kernel is tried against all that `+` may mean; here the answer for given types is kept (`_call_type`).

Three more concern kernels that are read from the disk:

* Reading what only compiling needs: the intermediate code of a kernel, which others may paste in, is looked at when somebody does
  (`_get_module_for_linking`); the names in it are kept beside it.
* Where helpers find constants of Python, which hardly any has (`_with_constants`): a thousand of these places were made to start a run.
* Loading all that Numba knows how to compile (`_read`): a third of a second, of which a process that compiles nothing needs the run time.

And one thing is done besides: functions that a kernel holds a copy of are its own (`_keep`). Numba leaves them open to the linker, which
takes the copy of whichever kernel was loaded first for all of them; copies differ in their last digits, as some were optimised more
often, so results depended on the order in which kernels are loaded, and on who compiled them.

It reaches into Numba, so only versions that it was tried with are changed; others compile as they always did (`install` says which).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numba
from llvmlite.binding import Linkage, parse_bitcode
from numba.core import caching, codegen, compiler, event, targetconfig
from numba.core.runtime.nrt import rtsys
from numba.core.types import functions

TRIED = ("0.68.",)  # how versions of Numba begin that were compared, bit for bit, with what they compile by themselves
NEEDED = (
    (codegen.CPUCodeLibrary, "_finalize_final_module"),
    (codegen.CPUCodeLibrary, "_get_module_for_linking"),
    (codegen.JITCodeLibrary, "get_pointer_to_function"),
    (codegen.JITCodeLibrary, "serialize_using_object_code"),
    (codegen.JITCodeLibrary, "_unserialize"),
    (codegen.JitEngine, "_load_defined_symbols"),
    (caching.Cache, "load_overload"),
    (caching.Cache, "_load_overload"),
    (compiler.CompileResult, "_find_referenced_environments"),
    (codegen.JITCPUCodegen, "_library_class"),
    (codegen.JITCPUCodegen, "set_env"),
    (targetconfig.TargetConfig, "values"),
    (targetconfig.ConfigStack, "top_or_none"),
    (functions.BaseFunction, "get_call_type"),
)


def install() -> bool:
    """Change Numba for this process; False, and nothing is changed, if it is not made as expected."""
    if not numba.__version__.startswith(TRIED) or not all(hasattr(owner, name) for owner, name in NEEDED):
        return False
    if codegen.JITCPUCodegen._library_class is codegen.JITCodeLibrary:
        codegen.JITCPUCodegen._library_class = OnDemand
        codegen.JITCPUCodegen.set_env = _set_env  # type: ignore[method-assign]
        targetconfig.TargetConfig.__eq__ = _same  # type: ignore[method-assign]
        targetconfig.TargetConfig.__hash__ = lambda flags: hash(type(flags))  # type: ignore[method-assign]
        functions.BaseFunction.get_call_type = _call_type  # type: ignore[method-assign]
        caching.Cache.load_overload = _read  # type: ignore[method-assign]
        compiler.CompileResult._find_referenced_environments = _with_constants  # type: ignore[method-assign]
    return codegen.JITCPUCodegen._library_class is OnDemand


class Clock(event.Listener):  # type: ignore[misc]
    """What compiling has taken in this process since the clock began; kernels that are read from the cache are not compiled."""

    def __init__(self) -> None:
        self.seconds = 0.0  # [s] CPU
        self._inside, self._began = 0, 0.0

    def on_start(self, event: Any) -> None:
        if self._inside == 0:  # helpers are compiled while their kernel is
            self._began = time.process_time()
        self._inside += 1

    def on_end(self, event: Any) -> None:
        self._inside -= 1
        if self._inside == 0:
            self.seconds += time.process_time() - self._began


@lru_cache
def clocked() -> Clock:
    """The clock of this process."""
    clock = Clock()
    event.register("numba:compile", clock)
    return clock


class OnDemand(codegen.JITCodeLibrary):  # type: ignore[misc]
    """What one function is compiled to. Until somebody asks for an address in it, it is only there to be pasted into others."""

    _postponed = False
    _bitcode: bytes | None = None  # for others to paste in, of what was read from the disk

    @property
    def _loop(self) -> bool:
        """Whether it is a parallel loop or its frame: both are linked into their kernel, which passes over them and makes their code."""
        return self.name.startswith(("__numba_parfor_gufunc", "parallelgufuncwrapper"))

    def _optimize_final_module(self) -> None:
        if not self._loop:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        cached = self._object_caching_enabled and self._compiled_object is not None
        if cached or self.name == "nrt":  # Numba's own, whose addresses are asked for while others are made
            super()._finalize_final_module()
        else:
            self._finalized = self._postponed = True

    def _make(self) -> None:
        if self._postponed:
            self._postponed = False
            self._keep()
            super()._finalize_final_module()

    def _keep(self) -> None:
        """Let nobody else's copy of a function stand in for the one in here."""
        self._get_module_for_linking()  # what others paste in stays open: it is merged with the same function from elsewhere
        for function in self.get_defined_functions():
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if self._postponed and not self._loop and any(f.name == name for f in self.get_defined_functions()):
            self._make()
        return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> Any:
        self._ensure_finalized()
        self._make()
        name, kind, data = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        names = [each.name for some in (module.functions, module.global_variables) for each in some if not each.is_declaration]
        return name, kind, (*data, names)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object" or len(data) == 2:  # not from here
            return super()._unserialize(codegen, state)
        self = codegen.create_library(name)
        self.enable_object_caching()
        code, self._bitcode, names = data
        self._set_compiled_object(code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
        return self

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode is not None:
            self._shared_module, self._bitcode = parse_bitcode(self._bitcode), None
        return super()._get_module_for_linking()


_environments_of = compiler.CompileResult._find_referenced_environments


def _with_constants(result: Any) -> list[Any]:
    """Environments that what is kept of a kernel must have: those that hold something."""
    return [each for each in _environments_of(result) if each.consts]


_read_of = caching.Cache.load_overload


def _read(self: Any, signature: Any, context: Any) -> Any:
    """A kernel of pliant from the disk, None if it is not there."""
    if not getattr(self._impl.locator, "of_pliant", False):
        return _read_of(self, signature, context)
    rtsys.initialize(context)
    with self._guard_against_spurious_io_errors():
        return self._load_overload(signature, context)


_set_env_of = codegen.JITCPUCodegen.set_env


def _set_env(self: Any, name: str, env: Any) -> None:
    if self._engine.is_symbol_defined(name):  # else there is no code that could read it
        _set_env_of(self, name, env)


def _same(flags: Any, other: Any) -> bool:
    """Whether two sets of flags are equal: most of them are set alike, and then defaults need not be looked at."""
    if type(flags) is type(other) and flags._values == other._values:
        return True
    return isinstance(other, targetconfig.TargetConfig) and bool(flags.values() == other.values())


_call_type_of = functions.BaseFunction.get_call_type


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call of a function with arguments of these types, found once."""
    known = self.__dict__.setdefault("_pliant_known", {})
    key = context, tuple(args), tuple(kws.items()), targetconfig.ConfigStack.top_or_none()
    if key not in known:
        known[key] = _call_type_of(self, context, args, kws)
    return known[key]
