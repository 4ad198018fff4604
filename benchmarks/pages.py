"""Pages and tables: the templates in ``templates/``, filled in by Jinja2. No other module writes Markdown or HTML.

A name that a template asks for and is not given is an error. In ``.html`` templates everything is escaped; in Markdown
a template says which of two filters a text needs: ``plain`` for what a run says of itself, ``cell`` for our own words.
"""

import json
from collections.abc import Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from .records import printable
from .saturated import NONE, finer

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: Any) -> str:
    """The page that ``template``, the name of a file in ``templates/``, makes of ``values``.

    Raises:
        jinja2.TemplateNotFound: no such file.
        jinja2.UndefinedError: the template uses a name that is not among ``values``.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (plain, cell, code, link, formatted, bracketed, ranged)
    environment.filters |= {one.__name__: one for one in filters} | {"json": json.dumps}
    return environment


def plain(text: str) -> str:
    """``text`` in one line of Markdown: it ends no table cell, opens no code, tag or link."""
    line = printable(text).replace("\\", "\\\\")
    for mark in "|`":
        line = line.replace(mark, f"\\{mark}")
    return line.replace("&", "&amp;").replace("<", "&lt;").replace("](", "]\\(")


def cell(text: str) -> str:
    """Markdown of our own in one line that ends no table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """``text`` as code."""
    return f"`{text}`"


def link(text: str, url: str | None) -> str:
    """``text``, with a link where there is one."""
    return f"[{text}]({url})" if url else text


def formatted(value: Any, spec: str) -> str:
    """``value`` by one of Python's format specifications, such as ``.1%``."""
    return format(value, spec)


def bracketed(numbers: Sequence[float], spec: str) -> str:
    """An estimate and the ends of its interval, ``0.50 [0.40, 0.60]``; or the estimate alone."""
    spec = finer(spec, *numbers[1:]) if len(numbers) > 1 else spec
    estimate, *ends = (format(number, spec) for number in numbers)
    if any(map(isnan, numbers[1:])):
        return f"{estimate} [{NONE}]"
    return f"{estimate} [{', '.join(ends)}]" if ends else estimate


def ranged(numbers: Sequence[float], spec: str) -> str:
    """An estimate and the ends of its interval, ``50% (40% to 60%)``."""
    estimate, low, high = (format(number, finer(spec, *numbers[1:])) for number in numbers)
    if any(map(isnan, numbers[1:])):
        return f"{estimate} ({NONE})"
    return f"{estimate} ({low} to {high})"
