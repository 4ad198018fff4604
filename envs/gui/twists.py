"""What makes one phone differ from another beside its data: rows that apply to any app, and how they are drawn.

``theme`` colours; ``density`` heights in columns; ``home`` the order of icons; ``popups`` dialogs that come by
themselves; ``slow`` screens that load for some steps; ``failed`` a screen that cannot be loaded at first; ``advert`` a
banner on top of every screen of one app; ``notice`` a notification over the bar; ``autocorrect`` words that are
replaced when they are first typed. All are always drawn, in one order, and those that are switched off are
then left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .apps.system import ADVERTS, NOTICES, POPUPS
from .stream import Stream
from .themes import TEST_THEMES, TRAIN_THEMES

ROWS = ("theme", "density", "home", "popups", "slow", "failed", "advert", "notice", "autocorrect")
POPUP_COUNTS = {1: (0.85, 0.15), 2: (0.5, 0.35, 0.15), 3: (0.0, 0.5, 0.3, 0.2)}  # P(0, 1, 2, ... dialogs)
WINDOW = {1: 6, 2: 12, 3: 20}  # pop-ups and notifications come within this many steps
SLOW = {1: 0.1, 2: 0.25, 3: 0.5}  # P(one screen of an app is slow), for each app
FAILED = {1: 0.05, 2: 0.15, 3: 0.3}  # P(one screen of the task's apps fails)
ADVERT = {1: 0.15, 2: 0.3, 3: 0.5}  # P(one of the task's apps has a banner)
NOTICE = {1: 0.15, 2: 0.3, 3: 0.5}  # P(a notification)
AUTOCORRECT = {1: 0.15, 2: 0.3, 3: 0.5}
DENSITIES = (0.9, 1.0, 1.15)
NOTICE_STEPS = 3  # for which a notification stays
WALLPAPERS = (0x2C4A7C, 0x3D5A4C, 0x6B3F5E, 0x7A4B2E, 0x334155, 0x4A3F7A)


@dataclass(frozen=True)
class Notice:
    """A notification of an app that comes at (or soon after) a step."""

    step: int
    app: str
    text: str


@dataclass(frozen=True)
class Twists:
    """One phone's rows.

    Attributes:
        theme: index of :data:`.themes.PALETTES`.
        density: factor of heights in columns.
        home: keys of the apps as they stand on the home screen; empty: in their own order.
        popups: step -> name of a dialog.
        slow: ``app/view`` -> steps to load.
        failed: ``app/view`` that fails when it is first opened; empty: none.
        advert: (app, name of what is advertised), or nothing.
        notice: the notification, or none.
        autocorrect: whether words are corrected.
        clock, charge, wallpaper: as they say.
    """

    theme: int = 0
    density: float = 1.0
    home: tuple[str, ...] = ()
    popups: dict[int, str] = field(default_factory=dict)
    slow: dict[str, int] = field(default_factory=dict)
    failed: str = ""
    advert: tuple[str, str] | None = None
    notice: Notice | None = None
    autocorrect: bool = False
    clock: str = "09:41"
    charge: int = 80
    wallpaper: int = WALLPAPERS[0]


def weighted(stream: Stream, weights: Sequence[float]) -> int:
    """An index with probability proportional to its weight, by one draw of ``random()``.

    It is the first ``i`` with ``u * sum(weights) < weights[0] + ... + weights[i]``, summed from the left.
    """
    total = 0.0
    for weight in weights:
        total += weight
    point, reached = stream.random() * total, 0.0
    for i, weight in enumerate(weights):
        reached += weight
        if point < reached:
            return i
    return len(weights) - 1


def draw(
    stream: Stream,
    level: int,
    views: dict[str, tuple[str, ...]],
    needed: Sequence[str],
    *,
    test_theme: bool = False,
    drift: float = 0.0,
    rows: Sequence[str] = ROWS,
) -> Twists:
    """Draws the rows of one phone, in the order of the code.

    Args:
        stream: random numbers.
        level: of the task.
        views: names of the screens of every app that can be seen, in declared order.
        needed: apps that the task needs.
        test_theme: a theme that is not trained on.
        drift: from 0 to 1; the probabilities of slow screens, failures, banners and notifications grow by a factor of
            ``1 + drift``, and columns are set widest with probability ``drift / 2``.
        rows: those that are switched on.
    """
    apps, more = list(views), 1.0 + drift
    themes = TEST_THEMES if test_theme else TRAIN_THEMES
    theme = themes[stream.below(len(themes))]
    wide, density = stream.random() < drift / 2, DENSITIES[stream.below(len(DENSITIES))]
    home = tuple(apps[i] for i in stream.permutation(len(apps)).tolist())
    count = weighted(stream, POPUP_COUNTS[level])
    steps = (1 + stream.permutation(WINDOW[level])[:count]).tolist()
    names = [list(POPUPS)[i] for i in stream.permutation(len(POPUPS))[:count].tolist()]
    slow = {}
    for app, screens in views.items():
        is_slow, view, n = stream.random() < SLOW[level] * more, stream.below(len(screens)), 1 + stream.below(3)
        if is_slow:
            slow[f"{app}/{screens[view]}"] = n
    fails, app = stream.random() < FAILED[level] * more, needed[stream.below(len(needed))]
    failed = f"{app}/{views[app][stream.below(len(views[app]))]}"
    shown, app = stream.random() < ADVERT[level] * more, needed[stream.below(len(needed))]
    advert = app, list(ADVERTS)[stream.below(len(ADVERTS))]
    noted, step = stream.random() < NOTICE[level] * more, 1 + stream.below(WINDOW[level])
    notice = Notice(step, apps[stream.below(len(apps))], NOTICES[stream.below(len(NOTICES))])
    corrects = stream.random() < AUTOCORRECT[level]
    hour, minute, charge = stream.below(24), stream.below(60), 16 + stream.below(84)
    drawn = {
        "theme": theme, "density": DENSITIES[-1] if wide else density, "home": home,
        "popups": dict(zip(steps, names, strict=True)), "slow": slow, "failed": failed if fails else "",
        "advert": advert if shown else None, "notice": notice if noted else None, "autocorrect": corrects,
    }  # fmt: skip
    kept = {name: value for name, value in drawn.items() if name in rows}
    wallpaper = WALLPAPERS[stream.below(len(WALLPAPERS))]
    return Twists(**kept, clock=f"{hour:02d}:{minute:02d}", charge=charge, wallpaper=wallpaper)  # type: ignore[arg-type]
