"""Where things stand in ``pool``, the constants that all phones share: the first words say where the rest begin."""

(
    TYPES, EMPTY, FIRST_NAMES, LAST_NAMES, STREET_NAMES, STREET_KINDS, TABLES, FIELD_NAMES, UNITS, ROWS, BACK_TEXT,
    CLEAR_TEXT, LESS_TEXT, MORE_TEXT, LOADING_TEXT, ENTER_TEXT, ICON_BACK, ICON_CLOSE, ICON_MINUS, ICON_PLUS,
    ICON_SPINNER, ICON_ENTER, APPS, APP_COUNT, VIEWS, KEYS, DATA, NEEDS, POPUPS, POPUP_COUNT, HOME_TEXT,
    NO_FIELD_TEXT, NO_APP_TEXT, UNREADABLE_TEXT, EMPTY_LIST, FAILED_TEXT, RETRY_TEXT, SPONSORED_TEXT, ADVERTS,
    ADVERT_COUNT, NOTICES, NOTICE_COUNT, CORRECTIONS, CORRECTION_COUNT, FIRST_VIEWS, VIEW_COUNTS, TASKS, SHOWN_APPS,
    SHOWN_COUNT, ICON_INFO, STATUS, ICON_NAMES,
) = range(52)  # fmt: skip
HEADER = 64
"""Words before the rest.

TYPES: two words a type of record: how many fields it has, and where the numbers of its fields by name begin. EMPTY:
the empty text. FIRST_NAMES to STREET_KINDS: lists of texts. TABLES: three words a table of an app: app, field, and
the field that orders it or -1. FIELD_NAMES: the list of all names of fields. UNITS: what taps run (see UNIT_SIZE).
ROWS: three units a row: tap, hold, drop. APPS: APP_SIZE words an app. VIEWS: where the code of each view begins.
KEYS: the keyboard's pages. DATA: where the code that draws each app's data begins. NEEDS: a bit an app whose state
each view reads. POPUPS and ADVERTS: where the code begins that opens dialogs (an advert: code, name, icon + 1).
NOTICES: texts. CORRECTIONS: pairs of words. FIRST_VIEWS and VIEW_COUNTS: the views of each app. TASKS: where a task's
code begins, the apps that it speaks of (a bit each), whether it is infeasible, and up to five apps that it needs, -1
after them. SHOWN_APPS: the apps that are not hidden. STATUS: where the code begins that looks what the status bar
shows. ICON_NAMES: the list of all icons.
"""
UNIT_SIZE = 14
"""Words of a unit: where its code begins, how many locals it needs, the local of what it is dropped on, the locals."""
MOST_CAPTURED = 10
TASK_SIZE = 8
"""Words of a task."""
APP_SIZE = 4
"""Words of an app: name, colour, icon + 1, whether it is on the home screen."""
KEY_SIZE = 4
"""Words of a key: text, character it types + 1 (9 for backspace, -1 for enter), page it leads to + 1, icon + 1."""
