"""Where the scenes of a study come from: a file, a shipped scene, a scene made in Python, or a function of the parameters."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pliant.asking import refuse_code
from pliant.base import PliantError
from pliant.scene import Scene
from pliant.shop import scenes as shipped
from pliant.spec.units import in_scene_units


class Source:
    """Makes the scene of a case from values of parameters and at paths."""

    def __init__(self, given: Any, folder: Path) -> None:
        self.function: Callable[..., Scene] | None = None
        self.scene: Scene | None = None
        self.name = ""
        if isinstance(given, Scene):
            self.scene, self.name = given, given.name
        elif callable(given):
            self.function, self.name = given, getattr(given, "__name__", "scene")
        elif str(given).endswith(".toml"):
            self.scene = Scene.load(folder / str(given))
            self.name = Path(str(given)).stem
        elif ":" in str(given):
            self.function = load_function(str(given), folder)
            self.name = str(given).rpartition(":")[2]
        else:
            self.name = str(given)
            shipped.find(self.name)

    def takes(self, name: str) -> bool:
        """Whether a name is a parameter of the function or of the shipped scene, and no path."""
        if self.scene is not None:
            return False
        if self.function is None:
            return name in shipped.parameters(self.name)
        names = inspect.signature(self.function).parameters
        return name in names or "parameters" in names

    def make(self, values: Mapping[str, Any], seed: int) -> Scene:
        """The scene; values go to the parameters of a function or of a shipped scene, and to paths."""
        if self.scene is not None:
            return self.scene.with_(values)
        if self.function is None:
            takes = "seed" in shipped.parameters(self.name) and "seed" not in values
            return shipped.varied(self.name, {**values, "seed": seed} if takes else values)
        names = inspect.signature(self.function).parameters
        own = {name: in_scene_units(value) for name, value in values.items() if name in names}
        if "seed" in names and "seed" not in own:
            own["seed"] = seed
        if "parameters" in names:  # all of them, in one dictionary
            own["parameters"] = {name: in_scene_units(value) for name, value in values.items()}
        try:
            made = self.function(**own)
        except TypeError as error:
            raise PliantError(f"The function '{self.name}' cannot make a scene from {', '.join(values) or 'nothing'}: {error}.") from None
        if not isinstance(made, Scene):
            raise PliantError(f"The function '{self.name}' gave a {type(made).__name__}; it must return a pliant.Scene.")
        return made if "parameters" in names else made.with_({name: value for name, value in values.items() if name not in names})


def load_function(text: str, folder: Path) -> Callable[..., Any]:
    """A function by "file.py:name" (beside the study) or "module:name"."""
    place, _, name = text.rpartition(":")
    refuse_code(text, "The function")
    try:
        module = _from_file((folder / place).resolve()) if place.endswith(".py") else importlib.import_module(place)
        function = getattr(module, name)
    except (ImportError, AttributeError, OSError) as error:
        raise PliantError(f"The function '{text}' cannot be loaded: {error}.") from None
    if not callable(function):
        raise PliantError(f"'{text}' is not a function.")
    by_value(function)
    return function


def _from_file(path: Path) -> Any:
    name = f"pliant_study_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise OSError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def by_value(function: Callable[..., Any]) -> None:
    """Let a function of the user's own files travel to workers as code, for they may not have the file."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    file = str(getattr(module, "__file__", "") or "")
    if module is None or module.__name__ == "__main__" or module.__name__.startswith("pliant.") or "site-packages" in file:
        return
    try:
        from cloudpickle import register_pickle_by_value
    except ImportError:  # without Dask there are no workers
        return
    register_pickle_by_value(module)
