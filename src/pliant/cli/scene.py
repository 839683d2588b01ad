"""The scene that a command is to work on: from a file or by name, with what the command line changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.scene import Scene


def wanted_scene(name: str, settings: list[str], dt: float | None, duration: float | None, contact: str | None) -> Scene:
    """A scene from a file or by name, with what the command line changes."""
    from pliant.base import PliantError, nearest
    from pliant.scene import Scene
    from pliant.shop import scenes as shipped

    values = parse_settings(settings)
    if name.endswith(".toml") or "/" in name:
        try:
            scene = Scene.load(name)
        except UnicodeDecodeError:
            raise PliantError(f"{name} is not a text file, so it is no scene.") from None
        if "name" not in scene.model_fields_set:
            scene.name = Path(name).stem
        for key, value in values.items():
            if key not in Scene.model_fields:
                raise PliantError(f"A scene has no field '{key}': {nearest(key, Scene.model_fields)}")
            setattr(scene, key, value)
    else:
        _check_numbers(values, shipped.parameters(name))
        scene = shipped.make(name, **values)
    for key, value in (("dt", dt), ("duration", duration), ("contact", contact)):
        if value is not None:
            setattr(scene, key, value)
    return scene


def _check_numbers(values: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Refuse text where a scene wants a number, and take a number where it wants text."""
    from pliant.base import PliantError

    for key, value in values.items():
        if isinstance(defaults.get(key), str) and isinstance(value, int | float) and not isinstance(value, bool):
            values[key] = str(value)  # figure=6.1 is a name that looks like a number
        if isinstance(defaults.get(key), float) and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise PliantError(f"--set {key}={value}: {key} is a number, {defaults[key]:g} unless given.")


def parse_settings(items: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; values are read as TOML, and as text where that fails."""
    import tomlkit

    from pliant.base import PliantError

    values: dict[str, Any] = {}
    for item in items:
        key, sign, text = item.partition("=")
        if not sign or not key:
            raise PliantError(f"--set takes NAME=VALUE, not '{item}'.")
        try:
            values[key] = tomlkit.parse(f"value = {text}").unwrap()["value"]
        except Exception:
            values[key] = text
    return values
