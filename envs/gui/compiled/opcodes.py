"""The machine's instructions by number, in groups of 32 that one function each carries out.

An instruction is three words: number, ``a``, ``b``. Values are taken from a stack, and results put onto it.
"""

GROUP = 32

# 0: control and names (machine.run).
(
    HALT, CONST, LOAD, STORE, POP, JUMP, IF_NOT, AND, OR, FOR, COLLECT, GATHER, DRAFT, IF_DRAFT, ARG, CHARGE, ROOT,
    FIELD_OF, ATTRIBUTE, TAKE_LIST, TAKE_RECORD, FIELD_NAMED,
) = range(22)  # fmt: skip

# 1: operators (operators.operate): two values, or one.
(
    NOT, NEGATIVE, ADD, SUB, MUL, EQ, NE, LT, LE, GT, GE, IN, NOT_IN, INDEX, CONCAT, TO_TEXT,
) = range(GROUP, GROUP + 16)  # fmt: skip

# 2: functions of texts and numbers (functions.call_text).
(
    LOWER, TRIM, CLEAN, DIGITS, SPLIT, JOIN, CUT, ENDING, TWO_DIGITS, MONEY, CLOCK,
) = range(2 * GROUP, 2 * GROUP + 11)  # fmt: skip

# 3: functions of lists (functions.call_list).
(
    FIND, FIRST, LAST, LENGTH, SUM, LEAST, MOST, ANY, ALL, RANGE, SORTED, SORTED_BY, REPEATED, TOGGLED, SORTED_BY_KEYS,
    MOVED,
) = range(3 * GROUP, 3 * GROUP + 16)  # fmt: skip

# 4: random functions (drawing.draw).
(
    PICK, CHOOSE, SHUFFLED, COIN, COINS, INTEGER, INTEGERS, PEOPLE, NEW_PERSON, NUMBERS, STREETS, PASSWORD, PRICES,
) = range(4 * GROUP, 4 * GROUP + 13)  # fmt: skip

# 5: operations on the phone (acting.operate).
(
    SET, SET_NAMED, SET_ROW, SET_DRAFT, INSERT, DELETE_ROW, CLEAR, ERROR, PUSH, POP_SCREENS, POP_TO, ASK, REWIND,
    SET_ROOT, REGISTER, BRANCH, WORDING,
) = range(5 * GROUP, 5 * GROUP + 17)  # fmt: skip

# 6: elements of a page (widgets.show).
(
    BAR, ACTION, TAB, TABS_END, SECTION, PARAGRAPH, ROW, SWITCH, RADIO, FIELD, BUTTON, STEPPER, CHIP, CHIPS_END, IMAGE,
    EMPTY, SHOW_ERROR, CAPTURE_ENTER, CHIPS, WITH_HOLD,
) = range(6 * GROUP, 6 * GROUP + 20)  # fmt: skip
