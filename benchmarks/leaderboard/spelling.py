"""Whether a suite's comparisons name what there is: tasks of the suite, and agents by the names that they get."""

from ... import unknown
from ..suites import Comparison, Suite, find
from .board import Board
from .groups import env_of, names_of, place, short


def check_suite(suite: Suite) -> None:
    """Refuses a suite whose page could not be made of its own runs, before any of them is trained.

    Raises:
        KeyError: it repeats a suite that there is not.
        ValueError: nothing to run, or a comparison that cannot be (:func:`check_comparison`).
    """
    suite.check_whole()
    for comparison in suite.comparisons:
        check_comparison(comparison, suite, Board((), (), (), 0.95))
    if suite.repeats:
        try:
            find(suite.repeats)
        except KeyError as error:
            raise KeyError(f"what suite {suite.name} repeats: {error.args[0]}") from error


def check_comparison(comparison: Comparison, suite: Suite, board: Board) -> None:
    """Refuses a comparison whose page would say what is not so.

    An agent's name says what sets its runs apart from others that are there, so that it may be called otherwise in half
    a race than in a whole one: both names are known.

    Args:
        comparison: of the suite.
        suite: whose runs there are to be.
        board: of the runs that there are.

    Raises:
        ValueError: no task, a task or an agent that there is not, or a task of raw returns beside others.
    """
    where = f"comparison {comparison.title!r} of suite {suite.name}"
    there = [*suite.runs(seeds=suite.seeds[:1]), *(run.run for run in board.runs)]
    tasks = {place(run, across=comparison.across)[0] for run in there}
    if not comparison.tasks:
        raise ValueError(f"{where} has no tasks: name some of {', '.join(sorted(tasks))}")
    for task in comparison.tasks:
        if task not in tasks:
            raise ValueError(f"{where}: {unknown('task', task, tasks)}")
    raw = [task for task in comparison.tasks if not env_of(task).scored]
    if raw and len(comparison.tasks) > 1:
        raise ValueError(
            f"{where} has {short(raw[0])} among other tasks, and its returns are not normalised: give it a comparison "
            "of its own"
        )
    agents = _agents(comparison, suite, board)
    for name in (comparison.reference, *comparison.agents, *comparison.inert):
        if name not in agents:
            raise ValueError(f"{where}: {unknown('agent', name, agents)}")


def _agents(comparison: Comparison, suite: Suite, board: Board) -> set[str]:
    """Every name of an agent on the comparison's tasks, in the whole race and among the runs that there are."""
    runs = suite.runs(seeds=suite.seeds[:1])
    names = names_of(runs, across=comparison.across)
    found = {
        name
        for run in runs
        if place(run, across=comparison.across)[0] in comparison.tasks
        for name in (names[run.name], suite.label(run))
    }
    for result in board.results:
        task, data = place(result.runs[0].run, across=comparison.across)
        if task in comparison.tasks:
            found |= {result.agent + data, suite.label(result.runs[0].run)}
    return found - {""}
