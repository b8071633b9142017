"""What running the command `compat` comes to, for tests."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Run = Callable[..., Ran]
