"""Parts that several apps' declarations are made of."""

from ..declare.operations import Ask, Operations, Set
from ..declare.widgets import Chips, Stepper


def confirm(title: str, body: str, verb: str, do: Operations) -> Ask:
    """A dialog with a harmless button and one that does it."""
    return Ask(title, body, (("Cancel", ()), (verb, do)))


def stepper(draft: str, lowest: int, highest: int) -> Stepper:
    """A number that is chosen on a form."""
    less, more = (Set(f"draft.{draft}", f"draft.{draft} {sign} 1") for sign in "-+")
    return Stepper(draft, f"{{draft.{draft}}}", less, more, f"draft.{draft} <= {lowest}", f"draft.{draft} >= {highest}")


def chips(draft: str, of: str, text: str) -> Chips:
    """One of several texts, chosen on a form; ``text`` shows the one under the draft's name."""
    return Chips(draft, of, text, Set(f"draft.{draft}", draft), f"{draft} == draft.{draft}")
