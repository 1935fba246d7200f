"""Why a request is not fulfilled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Protocol, TypeVar

from pkm_description.errors import DatasetError, PkmError


class Code(Enum):
    """Reasons; services and actions have a number under the same name for theirs."""

    BAD_DATA = auto()
    UNKNOWN_ESTIMATOR = auto()
    BAD_OPTION = auto()
    ESTIMATION_FAILED = auto()
    CANNOT_WRITE = auto()
    NO_DESCRIPTION = auto()
    BAD_MODEL = auto()
    WRONG_ROBOT = auto()
    NOT_PHYSICAL = auto()
    VALIDATION_FAILED = auto()
    CONTROLLER_UNAVAILABLE = auto()
    REFUSED_BY_CONTROLLER = auto()
    CANCELED = auto()
    BAD_TRAJECTORY = auto()
    INFEASIBLE = auto()
    CONTROLLER_NOT_ACTIVE = auto()
    TOPIC_SILENT = auto()
    DISK_FULL = auto()
    BAG_EXISTS = auto()
    MOTION_FAILED = auto()
    BAD_RECORDING = auto()
    BUSY = auto()
    CLIENT_LOST = auto()


class Refusable(Protocol):
    """An answer of a service or of an action."""

    error_code: int
    error_msg: str


Answer = TypeVar('Answer', bound=Refusable)


class Refused(PkmError):
    """A request that is not fulfilled, with the reason as a code and in words."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code

    def fill(self, answer: Answer) -> Answer:
        """Write number and reason into an answer whose type has the codes as constants."""
        answer.error_code = int(getattr(answer, self.code.name))
        answer.error_msg = str(self)
        return answer


@contextmanager
def refusing(code: Code, data: Code | None = None) -> Iterator[None]:
    """Turn errors of the library into `Refused` with a code; `data`: that of wrong recordings."""
    try:
        yield
    except Refused:
        raise
    except PkmError as error:
        if data is not None and isinstance(error, DatasetError):
            code = data
        raise Refused(code, str(error)) from error
