"""Settings: radios, Wi-Fi networks with passwords, Bluetooth devices, display, sound, battery, language, phone name."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..device import App
from ..goals import pick, swap
from ..ui import Page, Screen
from ..words import GADGETS, NETWORKS, choose, password

RINGTONES = ("Aurora", "Beacon", "Breeze", "Chime", "Crystal", "Marimba", "Pebble", "Ripple", "Sonar", "Twilight")
TEXT_SIZES = ("Small", "Medium", "Large", "Huge")
TIMEOUTS = ("15 seconds", "30 seconds", "1 minute", "5 minutes", "10 minutes")
LANGUAGES = ("Dansk", "Deutsch", "English", "Espanol", "Francais", "Italiano", "Nederlands", "Polski", "Svenska")
STEPS = 5  # of brightness and volume: 0 to 5


@dataclass(frozen=True)
class Network:
    """A Wi-Fi network in range; an empty password means that it is open."""

    name: str
    password: str
    saved: bool = False


@dataclass(frozen=True)
class Gadget:
    """A Bluetooth device in range."""

    name: str
    paired: bool = False


@dataclass(frozen=True)
class Settings:
    """Everything the settings app can change."""

    airplane: bool
    wifi: bool
    bluetooth: bool
    mobile_data: bool
    networks: tuple[Network, ...]
    network: str
    gadgets: tuple[Gadget, ...]
    brightness: int
    dark: bool
    auto_rotate: bool
    text_size: str
    timeout: str
    media_volume: int
    ring_volume: int
    vibrate: bool
    do_not_disturb: bool
    ringtone: str
    battery_saver: bool
    language: str
    phone_name: str

    @property
    def online(self) -> bool:
        """Whether the internet can be reached: airplane mode cuts everything."""
        return not self.airplane and ((self.wifi and self.network != "") or self.mobile_data)

    def radios(self) -> str:
        """The radios that work now, for the status bar."""
        if self.airplane:
            return "airplane"
        on = [("wifi", self.wifi and self.network != ""), ("bluetooth", self.bluetooth), ("mobile", self.mobile_data)]
        return " ".join(name for name, works in on if works)


class SettingsApp(App):
    """The screens."""

    key: ClassVar[str] = "settings"
    name: ClassVar[str] = "Settings"
    icon: ClassVar[str] = "gear"
    colour: ClassVar[int] = 0x44546A

    def _toggle(self, page: Page, title: str, field: str, **kw: Any) -> None:
        on = bool(getattr(self.state, field))
        page.switch(title, on, self.setter(**{field: not on}), **kw)

    def show_main(self, page: Page, screen: Screen) -> None:
        """The list of everything."""
        s: Settings = self.state
        page.bar("Settings")
        self._toggle(page, "Airplane mode", "airplane")
        wifi = "Off" if s.airplane or not s.wifi else s.network or "Not connected"
        page.row("Wi-Fi", self.open("wifi"), detail=wifi, icon="wifi")
        page.row("Bluetooth", self.open("bluetooth"), detail=_on(s.bluetooth and not s.airplane), icon="bluetooth")
        self._toggle(page, "Mobile data", "mobile_data", disabled=s.airplane)
        page.row("Display", self.open("display"), detail=f"Brightness {s.brightness * 20}%", icon="sun")
        page.row("Sound", self.open("sound"), detail=s.ringtone, icon="bell")
        page.row("Battery", self.open("battery"), detail=f"{self.phone.charge}%", icon="battery")
        page.row("Language", self.open("choice", "language"), detail=s.language, icon="globe")
        page.row("About phone", self.open("about"), detail=s.phone_name, icon="info")

    def show_wifi(self, page: Page, screen: Screen) -> None:
        """The Wi-Fi switch and the networks in range; airplane mode disables the switch."""
        s: Settings = self.state
        page.bar("Wi-Fi")
        hint = "Airplane mode is on" if s.airplane else ""
        self._toggle(page, "Use Wi-Fi", "wifi", disabled=s.airplane, detail=hint)
        if not s.wifi or s.airplane:
            page.empty("Wi-Fi is off", "wifi")
            return
        page.section("Networks")
        for network in s.networks:
            kind = "Connected" if network.name == s.network else _security(network)
            page.row(network.name, partial(self._join, network), detail=kind, icon="wifi")

    def _join(self, network: Network) -> None:
        if network.name == self.state.network:
            self.open("network", network.name)()
        elif network.saved or not network.password:
            self._connect(network)
        else:
            self.open("password", network.name)()

    def _connect(self, network: Network) -> None:
        saved = replace(network, saved=True)
        self.update(network=network.name, networks=swap(self.state.networks, network, saved))

    def show_password(self, page: Page, screen: Screen) -> None:
        """Asks for a network's password; a wrong one connects to nothing."""
        network = _named(self.state.networks, screen.arg)

        def connect() -> None:
            if screen.drafts["password"] != network.password:
                screen.error = "Wrong password"
                return
            self._connect(network)
            self.phone.pop()

        page.bar(network.name)
        page.text("This network is secured.")
        page.field("password", "Password")
        page.on_enter = connect
        page.error()
        page.button("Connect", connect)

    def show_network(self, page: Page, screen: Screen) -> None:
        """The network in use: disconnect from it or forget its password."""
        network = _named(self.state.networks, screen.arg)

        def leave(saved: bool) -> None:
            kept = replace(network, saved=saved)
            self.update(network="", networks=swap(self.state.networks, network, kept))
            self.phone.pop()

        page.bar(network.name)
        page.image("", "wifi", self.colour, height=36)
        page.text(f"Connected, {'secured' if network.password else 'open'} network")
        page.button("Disconnect", lambda: leave(network.saved), look="plain")
        page.button("Forget network", lambda: leave(False), look="danger")

    def show_bluetooth(self, page: Page, screen: Screen) -> None:
        """The Bluetooth switch, paired devices, and devices to pair with."""
        s: Settings = self.state
        page.bar("Bluetooth")
        self._toggle(page, "Use Bluetooth", "bluetooth", disabled=s.airplane)
        if not s.bluetooth or s.airplane:
            page.empty("Bluetooth is off", "bluetooth")
            return
        for title, paired in (("Paired devices", True), ("Available devices", False)):
            page.section(title)
            for gadget in s.gadgets:
                if gadget.paired == paired:
                    page.row(gadget.name, partial(self._pair, gadget), icon="bluetooth")

    def _pair(self, gadget: Gadget) -> None:
        flipped = replace(gadget, paired=not gadget.paired)
        verb = "Unpair" if gadget.paired else "Pair"
        apply = self.setter(gadgets=swap(self.state.gadgets, gadget, flipped))
        self.phone.dialog = self.phone.ask(
            f"{verb} device", f"{verb} {gadget.name}?", ("Cancel", _nothing), (verb, apply)
        )

    def show_display(self, page: Page, screen: Screen) -> None:
        """Brightness, theme, rotation, text size, screen timeout."""
        s: Settings = self.state
        page.bar("Display")
        self._steps(page, "brightness", "brightness", least=1)
        self._toggle(page, "Dark theme", "dark")
        self._toggle(page, "Auto-rotate", "auto_rotate")
        page.row("Text size", self.open("choice", "text_size"), detail=s.text_size)
        page.row("Screen timeout", self.open("choice", "timeout"), detail=s.timeout)

    def _steps(self, page: Page, label: str, field: str, least: int = 0) -> None:
        value = int(getattr(self.state, field))
        less, more = self.setter(**{field: value - 1}), self.setter(**{field: value + 1})
        page.stepper(label, f"{value * 100 // STEPS}%", less, more, bounds=(value <= least, value >= STEPS))

    def show_sound(self, page: Page, screen: Screen) -> None:
        """Volumes, vibration, do not disturb, ringtone."""
        page.bar("Sound")
        self._steps(page, "media volume", "media_volume")
        self._steps(page, "ring volume", "ring_volume")
        self._toggle(page, "Vibrate on ring", "vibrate")
        self._toggle(page, "Do not disturb", "do_not_disturb")
        page.row("Ringtone", self.open("choice", "ringtone"), detail=self.state.ringtone, icon="bell")

    def show_battery(self, page: Page, screen: Screen) -> None:
        """Charge and battery saver."""
        page.bar("Battery")
        page.image("", "battery", 0x2E9E6B, height=36)
        page.text(f"{self.phone.charge}% charged", look="big")
        self._toggle(page, "Battery saver", "battery_saver")

    def show_choice(self, page: Page, screen: Screen) -> None:
        """One of several: ringtone, text size, screen timeout or language."""
        title, options = CHOICES[screen.arg]
        page.bar(title)
        for option in options:
            chosen = option == getattr(self.state, screen.arg)
            page.radio(option, chosen, self.setter(**{screen.arg: option}))

    def show_about(self, page: Page, screen: Screen) -> None:
        """The phone's name, and the button one should not press."""
        page.bar("About phone")
        page.row("Phone name", self.open("rename"), detail=self.state.phone_name)
        page.row("Model", None, detail="Tilt 5")
        page.row("System version", None, detail="14.2")
        page.button("Reset all settings", self._reset, look="danger")

    def _reset(self) -> None:
        factory = self.setter(brightness=3, dark=False, wifi=True, bluetooth=False, ringtone="Chime", network="")
        body = "All settings go back to the factory state."
        self.phone.dialog = self.phone.ask("Reset settings?", body, ("Cancel", _nothing), ("Reset", factory))

    def show_rename(self, page: Page, screen: Screen) -> None:
        """Edits the phone's name; it cannot be empty."""

        def save() -> None:
            name = screen.drafts["name"].strip()
            if not name:
                screen.error = "Enter a name"
                return
            self.update(phone_name=name)
            self.phone.pop()

        page.bar("Phone name")
        page.field("name", "Name", self.state.phone_name)
        page.error()
        page.button("Save", save)


CHOICES = {
    "ringtone": ("Ringtone", RINGTONES),
    "text_size": ("Text size", TEXT_SIZES),
    "timeout": ("Screen timeout", TIMEOUTS),
    "language": ("Language", LANGUAGES),
}


def _nothing() -> None:
    pass


def _on(on: bool) -> str:
    return "On" if on else "Off"


def _security(network: Network) -> str:
    return "Saved" if network.saved else "Secured" if network.password else "Open"


def _named(items: tuple[Any, ...], name: str) -> Any:
    return next(item for item in items if item.name == name)


def initial(rng: np.random.Generator) -> Settings:
    """A phone as its owner may have set it: online, with networks and devices around."""
    coins = [bool(coin) for coin in rng.integers(2, size=8)]
    levels = [int(level) for level in rng.integers(1, STEPS, 3)]
    names = choose(rng, NETWORKS, 6)
    networks = tuple(Network(name, "" if i in (2, 5) else password(rng), saved=i < 2) for i, name in enumerate(names))
    gadgets = tuple(Gadget(name, paired=i < 2) for i, name in enumerate(choose(rng, GADGETS, 5)))
    order = rng.permutation(len(networks))
    return Settings(
        airplane=False, wifi=True, bluetooth=coins[0], mobile_data=coins[1],
        networks=tuple(networks[int(i)] for i in order), network=names[0], gadgets=gadgets,
        brightness=levels[0], dark=coins[2], auto_rotate=coins[3],
        text_size=pick(rng, TEXT_SIZES), timeout=pick(rng, TIMEOUTS),
        media_volume=levels[1], ring_volume=levels[2], vibrate=coins[4], do_not_disturb=coins[5],
        ringtone=pick(rng, RINGTONES), battery_saver=coins[6], language=pick(rng, LANGUAGES),
        phone_name=f"Tilt {int(rng.integers(100, 1000))}",
    )  # fmt: skip
