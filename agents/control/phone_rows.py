"""Agents of phones, a row a name; see :mod:`.rows`."""

from ..row import Row, Settings

_NUMBERS: Settings = {"gui": {"observation": "elements"}}
"""A phone whose elements are numbers; these agents need it."""

PHONES: tuple[Row, ...] = (
    Row(
        "digirl",
        "tiltyard.agents.control.digirl:DigiRL",
        ("gui",),
        "Offline-to-online on phones: imitates good steps of surprising successes, led by two critics",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "digi-q",
        "tiltyard.agents.control.digi_q:DigiQ",
        ("gui",),
        "Offline-to-online on phones: Q and V learned by TD, and the best of N actions by them imitated",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "phone-bc",
        "tiltyard.agents.control.cloning:Cloning",
        ("gui",),
        "Behaviour cloning of recorded episodes of a phone",
        paper="bc",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "filtered-cloning",
        "tiltyard.agents.control.cloning:FilteredCloning",
        ("gui",),
        "Behaviour cloning of successful episodes of a phone, its own included; the baseline of DigiRL",
        paper="digirl",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "phone-awr",
        "tiltyard.agents.control.cloning:OutcomeAWR",
        ("gui",),
        "Imitates steps of a phone's episodes by their outcomes, without a learnt critic",
        paper="awr",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "phone-grpo",
        "tiltyard.agents.control.phone_grpo:PhoneGRPO",
        ("gui",),
        "GRPO on phones: several episodes of each problem, compared with each other",
        paper="grpo",
        env_kwargs=_NUMBERS,
        n_envs={"*": 16},
    ),
    Row(
        "ui-r1",
        "tiltyard.agents.control.ui_r1:UIR1",
        ("gui",),
        "GRPO on single recorded steps of a phone, by a rule for type and argument of an action",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "ui-s1",
        "tiltyard.agents.control.ui_s1:UIS1",
        ("gui",),
        "Semi-online on recorded episodes of a phone: rollouts along them, patched where they err",
        env_kwargs=_NUMBERS,
    ),
    Row(
        "craft-gui",
        "tiltyard.agents.control.craft_gui:CraftGUI",
        ("gui",),
        "GRPO on recorded steps of a phone, from short solutions to long ones, with a graded reward",
        env_kwargs=_NUMBERS,
    ),
)
