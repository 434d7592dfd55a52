"""Checkpoints 检查点: a run in one file, which is data and never code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

PARTS = {"settings", "parts", "rng", "generator", "history"}


class Checkpoint:
    """The state of a run in one file, written whole or not at all 检查点.

    Args:
        path: the file; None keeps nothing.
        settings: must equal those in the file when a run is resumed.
        parts: objects with ``state_dict`` and ``load_state_dict``, or None for no part.
        rng: the stream of the prompts.
        generator: the stream of the tokens.
    """

    def __init__(
        self,
        path: Path | str | None,
        settings: Mapping[str, object],
        parts: Mapping[str, object],
        rng: np.random.Generator,
        generator: torch.Generator,
    ):
        self.path = None if path is None else Path(path)
        self.settings, self.parts = (
            dict(settings),
            {name: part for name, part in parts.items() if part is not None},
        )
        self.rng, self.generator = rng, generator

    def load(self) -> list[dict]:
        """Restore all parts; return the metrics of the finished rounds.

        Raises:
            ValueError: a file that is not a whole checkpoint (nothing in it is run), or
                one of another run.
        """
        if self.path is None or not self.path.exists():
            return []
        try:
            state = torch.load(self.path, weights_only=True)
            if not isinstance(state, dict) or set(state) != PARTS:
                raise ValueError("its parts are not those of a run")
        except Exception as error:  # torch raises many kinds
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"{self.path} is not a whole checkpoint ({reason}); remove it"
            ) from None
        different = [
            name
            for name in self.settings.keys() | state["settings"].keys()
            if name != "steps"
            and self.settings.get(name) != state["settings"].get(name)
        ]
        if different:
            raise ValueError(
                f"{self.path} belongs to another run: {', '.join(sorted(different))} "
                "differ"
            )
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        self.rng.bit_generator.state = state["rng"]
        self.generator.set_state(state["generator"])
        return state["history"]

    def save(self, history: list[dict]):
        """Write to a file beside it, then rename: a reader never sees half a file."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(self.path.name + ".new")
        torch.save(
            {
                "settings": self.settings,
                "parts": {name: part.state_dict() for name, part in self.parts.items()},
                "rng": self.rng.bit_generator.state,
                "generator": self.generator.get_state(),
                "history": history,
            },
            new,
        )
        os.replace(new, self.path)
