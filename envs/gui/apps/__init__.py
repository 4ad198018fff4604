"""The phone's apps, each a file of data: state, screens, operations and tasks; and tasks that need several apps."""

from ..declare.interpreter import compile_apps
from ..declare.tasks import template
from ..goals import Template
from .contacts import APP as CONTACTS
from .errands import ERRANDS
from .settings import APP as SETTINGS
from .shop import APP as SHOP
from .system import APP as SYSTEM

DECLARED = (SETTINGS, CONTACTS, SHOP)
PROGRAMS = compile_apps((*DECLARED, SYSTEM))
APPS = tuple(PROGRAMS[app.key] for app in DECLARED)
TEMPLATES: tuple[Template, ...] = (
    *(template(tasks, PROGRAMS[app.key]) for app in DECLARED for tasks in app.tasks),
    *(template(tasks, PROGRAMS[app]) for app, tasks in ERRANDS),
)
