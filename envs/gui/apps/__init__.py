"""The phone's apps: each a file of screens with its state, and a file of goals."""

from ..goals import Template
from .contacts import ContactsApp
from .contacts_goals import GOALS as CONTACTS_GOALS
from .errands import GOALS as ERRANDS
from .settings import SettingsApp
from .settings_goals import GOALS as SETTINGS_GOALS
from .shop import ShopApp
from .shop_goals import GOALS as SHOP_GOALS

APPS = (SettingsApp, ContactsApp, ShopApp)
TEMPLATES: tuple[Template, ...] = (*SETTINGS_GOALS, *CONTACTS_GOALS, *SHOP_GOALS, *ERRANDS)
