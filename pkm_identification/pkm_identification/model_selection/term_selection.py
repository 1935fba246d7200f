"""Which terms of the drives the data ask for: forward selection by held-out error and F test.

At each step of the selection the candidate that lowers the squared error of held-out parts of
the data most is taken, as long as it lowers it by more than one standard deviation of the paired
differences of the parts (one standard error rule [Breiman et al. 1984]) and an F test agrees,
whose level is that of all candidates of the step together (Bonferroni). Its value must be that of
a drive, no matter of a part of the data (`term_steadiness`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pkm_description.errors import EstimationError
from pkm_identification.model_selection.candidate_terms import Candidate
from pkm_identification.model_selection.term_search import Search
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import TriedTerm

SHOWN = 3  # best candidates of the last step that were not taken, in the table
MOST_STEPS = 4  # a drive: laws, offset, ripple, spring
ASKED_EVERY = 2  # shapes of a law differ little from the next, and only the law is named


@dataclass(frozen=True)
class Selected:
    """Terms that were taken, and the table of those that were tried."""

    taken: tuple[Candidate, ...] = ()
    tried: tuple[TriedTerm, ...] = ()


def select_terms(problem: Problem, laws: bool = True, may_change: bool = True) -> Selected:
    """Choose terms of the drives that the residuals of a problem ask for, with or without `laws`.

    Only where it `may_change` parameters of the description, Coulomb friction becomes two, and
    a power law takes the place of viscous friction.

    EstimationError where the recordings are too long for memory.
    """
    if any(run.is_long for run in problem.runs):
        raise EstimationError(
            "friction='auto' keeps all rows in memory: give it a part of the data (--from, --to)"
        )
    without = () if laws else problem.model.actuated_joints
    search = Search(problem, without, may_change=may_change)
    tried: list[TriedTerm] = []
    for step in range(1, MOST_STEPS * problem.axes + 1):
        judged = list(search.judged())
        best = next((each for each in judged if each.passes), None)
        if best is None:
            return Selected(
                _of_drives(search),
                (*tried, *(each.row(step, problem.names) for each in judged[:SHOWN])),
            )
        best = search.take(best)
        row, elsewhere = best.row(step, problem.names), best.candidate.term.is_of_measurement
        tried.append(replace(row, is_taken=not elsewhere, is_found=elsewhere))
    return Selected(_of_drives(search), tuple(tried))


def _of_drives(search: Search) -> tuple[Candidate, ...]:
    """Terms that a model of the drives can take; the others only make room for the right ones."""
    return tuple(each for each in search.taken if not each.term.is_of_measurement)


def asked_for(problem: Problem, with_laws: Sequence[str] = ()) -> TriedTerm | None:
    """Return the one term that residuals ask for most; None where none is significant.

    Nor where held-out forces of its drives, as a user counts them, are predicted worse with it:
    the tests weigh recordings by their residuals, of which one may gain what others lose more.
    `with_laws` are joints that have a friction law already. None also for recordings so long
    that their rows would have to be made again.
    """
    if any(run.known_rows is None and len(run.folded.sample) > 1 for run in problem.runs):
        return None
    judged = Search(problem, with_laws, ASKED_EVERY).judged()
    rows = (each.row(1, problem.names) for each in judged if each.passes)
    return next((each for each in rows if each.error_after < each.error_before), None)
