"""Programs of the fake device: what of Android's own is needed to look at it, touch it and ask it."""

import base64
from collections.abc import Mapping

from . import queries
from .errors import CommandFailed
from .hierarchy import dump
from .host import KEYS, LAUNCHER, PACKAGE
from .shell import Process, Program

DUMPED = "/sdcard/window_dump.xml"
ACTIVITY = """  ActivityInfo:
    name={0}.Main
    packageName={0}
    labelRes=0x0 nonLocalizedLabel={1} icon=0x0 banner=0x0"""
PROPERTIES = {
    "ro.product.name": "tiltyard", "ro.product.model": "Tiltyard phone", "ro.product.device": "tiltyard",
    "ro.product.brand": "tiltyard", "ro.product.manufacturer": "tiltyard", "ro.product.cpu.abi": "x86_64",
    "ro.product.cpu.abilist": "x86_64", "ro.build.version.release": "13", "ro.build.version.sdk": "33",
    "ro.build.version.preview_sdk": "0", "ro.build.version.codename": "REL", "ro.serialno": "tiltyard",
    "ro.boot.serialno": "tiltyard", "ro.debuggable": "1", "ro.kernel.qemu": "0", "sys.boot_completed": "1",
    "ro.build.fingerprint": "tiltyard/tiltyard/tiltyard:13/FAKE/1:userdebug/test-keys",
    "persist.sys.timezone": "UTC", "ro.sf.lcd_density": "192", "dev.bootcomplete": "1",
}  # fmt: skip


def _numbers(words: list[str], least: int, most: int, usage: str) -> list[float]:
    try:
        found = [float(word) for word in words]
    except ValueError as error:
        raise CommandFailed(f"usage: {usage}") from error
    if not least <= len(found) <= most or any(abs(one) > 1e6 or one != one for one in found):
        raise CommandFailed(f"usage: {usage}")
    return found


def _input(process: Process) -> int:
    words = [word for word in process.words[1:]]
    sources = ("touchscreen", "keyboard", "mouse", "touchnavigation", "dpad", "trackball", "joystick", "stylus")
    while words and words[0] in sources or words[:1] == ["-d"]:
        words = words[2:] if words[0] == "-d" else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    host = process.host
    if verb == "tap":
        host.tap(*_numbers(rest, 2, 2, "input tap X Y"))
    elif verb == "swipe":
        host.swipe(*_numbers(rest, 4, 5, "input swipe X0 Y0 X1 Y1 [MS]"))
    elif verb == "draganddrop":
        host.drag(*_numbers(rest, 4, 5, "input draganddrop X0 Y0 X1 Y1 [MS]"))
    elif verb == "text" and len(rest) == 1:
        host.type(rest[0].replace("%s", " "))
    elif verb == "keyevent" and rest:
        for word in rest:
            if word == "--longpress":
                continue
            host.key(_key(word))
    elif verb not in ("motionevent", "roll", "press"):
        return process.fail("Error: Unknown command: " + " ".join(words[:1]) + "\nUsage: input tap|swipe|text|keyevent")
    return 0


def _key(word: str) -> int:
    name = word.removeprefix("KEYCODE_").upper()
    if word.isdigit():
        return int(word)
    if name not in KEYS:
        raise CommandFailed(f"there is no key {word!r}; keys are {', '.join(list(KEYS)[:14])}, ...")
    return KEYS[name]


def _wm(process: Process) -> int:
    host = process.host
    what = process.words[1] if len(process.words) > 1 else ""
    if len(process.words) > 2:
        return process.fail("Error: this screen has one size", 255)
    if what == "size":
        process.say(f"Physical size: {host.width}x{host.height}")
    elif what == "density":
        process.say(f"Physical density: {host.density}")
    else:
        return process.fail("usage: wm size | wm density", 255)
    return 0


def _screencap(process: Process) -> int:
    words = [word for word in process.words[1:] if word not in ("-d", "0")]
    kind = words[0] if words and words[0] in ("-p", "-j") else ""
    path = words[-1] if words and not words[-1].startswith("-") else ""
    png = kind == "-p" or path.endswith(".png")
    data = process.host.png("JPEG" if kind == "-j" else "PNG") if png or kind == "-j" else process.host.raw()
    if path and path != "/dev/stdout":
        process.files.write(path, data)
    else:
        process.write(data)
    return 0


def _uiautomator(process: Process) -> int:
    words = [word for word in process.words[1:] if word != "--compressed"]
    if words[:1] != ["dump"]:
        return process.fail("Usage: uiautomator dump [file]")
    host, path = process.host, words[1] if len(words) > 1 else DUMPED
    with host.lock:
        xml = dump(host.phone, host.top()[0], host.width, host.height)
    if path in ("/dev/tty", "/dev/stdout", "/proc/self/fd/1"):
        process.write(xml.encode())
    else:
        process.files.write(path, xml.encode())
    process.say(f"UI hierchary dumped to: {path}")
    return 0


def _settings(process: Process) -> int:
    words = [word for i, word in enumerate(process.words[1:]) if word != "--user" and process.words[i] != "--user"]
    verb, space = (words + ["", ""])[:2]
    if space not in queries.NAMESPACES or len(words) < {"get": 3, "put": 4, "list": 2, "delete": 3}.get(verb, 99):
        return process.fail("usage: settings get|put|list|delete system|secure|global NAME [VALUE]", 255)
    host = process.host
    with host.lock:
        if verb == "get":
            process.say(host.further_settings.get(words[2]) or queries.get_setting(host.phone, words[2]))
        elif verb == "put" and not queries.has_setting(host.phone, words[2]):
            host.further_settings[words[2]] = words[3]
        elif verb == "put":
            host.with_phone(lambda phone: queries.put_setting(phone, words[2], words[3]))
        elif verb == "list":
            further = [f"{name}={value}" for name, value in sorted(host.further_settings.items())]
            process.say("\n".join([queries.list_settings(host.phone), *further]))
        else:
            process.say(f"Deleted {int(host.further_settings.pop(words[2], None) is not None)} rows")
    return 0


def _content(process: Process) -> int:
    verb, *words = process.words[1:] or [""]
    options: dict[str, list[str]] = {}
    for i in range(0, len(words) - 1, 2):
        options.setdefault(words[i].lstrip("-"), []).append(words[i + 1])
    uri, where = options.get("uri", [""])[0], options.get("where", [""])[0]
    bound = {}
    for one in options.get("bind", []):
        parts = one.split(":", 2)
        if len(parts) != 3:
            return process.fail(f"Error: --bind is NAME:TYPE:VALUE, not {one!r}")
        bound[parts[0]] = parts[2]
    with process.host.lock:
        if verb == "query":
            process.say(queries.query(process.host.phone, uri, options.get("projection", [""])[0], where))
        elif verb == "insert":
            process.host.with_phone(lambda phone: queries.insert(phone, uri, bound))
        elif verb == "update":
            process.host.with_phone(lambda phone: queries.update(phone, uri, bound, where))
        elif verb == "delete":
            process.host.with_phone(lambda phone: queries.delete(phone, uri, where))
        else:
            return process.fail("usage: content query|insert|update|delete --uri URI ...")
    return 0


def _am(process: Process) -> int:
    verb, *words = process.words[1:] or [""]
    if verb in ("start", "start-activity"):
        flags = ("-n", "-a", "-c", "-d", "-f", "-p", "--user", "--es", "--ei", "--ez")
        given = {flag: words[words.index(flag) + 1] for flag in flags if flag in words[:-1]}
        package = given.get("-n", "").partition("/")[0] or given.get("-p", "")
        package = package or {"android.settings.SETTINGS": PACKAGE + "settings"}.get(given.get("-a", ""), "")
        package = LAUNCHER if given.get("-c") == "android.intent.category.HOME" else package
        process.say(f"Starting: Intent {{ cmp={given.get('-n', package)} }}")
        if not process.host.start(package):
            return process.fail(f"Error type 3\nError: Activity class {{{given.get('-n', '')}}} does not exist.")
    elif verb in ("force-stop", "kill"):
        process.host.stop(words[-1] if words else "")
    elif verb == "broadcast":
        return _broadcast(process, words)
    elif verb not in ("stack", "startservice"):
        return process.fail(f"Error: unknown command '{verb}'")
    return 0


def _broadcast(process: Process, words: list[str]) -> int:
    """A broadcast; uiautomator2's keyboard types, empties and sends by them."""
    action = words[words.index("-a") + 1] if "-a" in words[:-1] else ""
    text = words[words.index("--es") + 2] if "--es" in words[:-2] else ""
    if action == "ADB_KEYBOARD_INPUT_TEXT":
        try:
            process.host.type(base64.b64decode(text, validate=True).decode())
        except ValueError as error:
            raise CommandFailed(f"the text of {action} is no base64") from error
    elif action == "ADB_KEYBOARD_CLEAR_TEXT":
        process.host.clear_text()
    elif action in ("ADB_KEYBOARD_SMART_ENTER", "ADB_KEYBOARD_EDITOR_CODE"):
        process.host.key(KEYS["ENTER"])
    process.say(f"Broadcasting: Intent {{ act={action} }}\nBroadcast completed: result=-1")
    return 0


def _pm(process: Process) -> int:
    words = process.words[1:] if process.words[0] == "pm" else process.words[2:]
    packages = [*process.host.packages(), LAUNCHER, "com.android.systemui"]
    if words[:2] == ["list", "packages"]:
        names = [word for word in words[2:] if not word.startswith("-")]
        process.say("\n".join(f"package:{one}" for one in sorted(packages) if not names or names[0] in one))
    elif words[:1] == ["path"]:
        if words[-1] not in packages:
            return 1
        process.say(f"package:/data/app/{words[-1]}/base.apk")
    elif words[:1] in (["resolve-activity"], ["query-activities"]):
        apps = process.host.packages()
        wanted = [one for one in apps if one in words] or list(apps)
        form = "{}/.Main" if "--brief" in words else ACTIVITY
        process.say("\n".join(form.format(one, apps[one]) for one in wanted))
    elif words[:1] == ["clear"]:
        process.host.stop(words[-1])
        process.say("Success")
    else:
        return process.fail("usage: pm list packages | pm path PACKAGE | pm clear PACKAGE")
    return 0


def _monkey(process: Process) -> int:
    words = process.words
    package = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
    if not process.host.start(package):
        return process.fail("** No activities found to run, monkey aborted.", 252)
    process.say("Events injected: 1")
    return 0


def _dumpsys(process: Process) -> int:
    host = process.host
    package, activity = host.top()
    name = process.words[1] if len(process.words) > 1 else ""
    focus = f"Window{{1 u0 {package}/{package}{activity}}}"
    with host.lock:
        if name == "tiltyard":
            process.say(queries.whole_state(host.phone.state))
        elif name in ("window", "input"):
            process.say(
                f"  mCurrentFocus={focus}\n  mFocusedApp=ActivityRecord{{1 u0 {package}/{activity} t1}}\n"
                f"  mDisplayId=0 init={host.width}x{host.height} {host.density}dpi cur={host.width}x{host.height}\n"
                f"  mShowingLockscreen=false mDreamingLockscreen=false\n"
                f"  SurfaceOrientation: 0\n  Viewport INTERNAL: displayId=0, orientation=0, "
                f"logicalFrame=[0, 0, {host.width}, {host.height}], deviceSize=[{host.width}, {host.height}]"
            )
        elif name == "activity":
            process.say(
                f"  mResumedActivity: ActivityRecord{{1 u0 {package}/{activity} t1}}\n"
                f"  topResumedActivity=ActivityRecord{{1 u0 {package}/{activity} t1}}\n"
                f"  ACTIVITY {package}/{activity} 1 pid=1"
            )
        elif name == "battery":
            process.say(f"Current Battery Service state:\n  level: {host.phone.charge}\n  scale: 100")
        elif name == "input_method":
            process.say(f"  mInputShown={str(host.phone.focus is not None).lower()}")
        elif name == "display":
            process.say(f"  DisplayViewport{{orientation=0, deviceWidth={host.width}, deviceHeight={host.height}}}")
        elif name == "power":
            process.say("  mWakefulness=Awake\n  mHoldingDisplaySuspendBlocker=true")
        elif name == "package" and len(process.words) > 2:
            process.say(f"  Package [{process.words[2]}] (1):\n    versionCode=1\n    versionName=1.0")
        elif name:
            return process.fail(f"Can't find service: {name}", 0)
    return 0


def _getprop(process: Process) -> int:
    name = process.words[1] if len(process.words) > 1 else ""
    if name:
        process.write((PROPERTIES.get(name, "") + "\n").encode())
    else:
        process.say("\n".join(f"[{key}]: [{value}]" for key, value in sorted(PROPERTIES.items())))
    return 0


def _svc(process: Process) -> int:
    names = {"wifi": "wifi_on", "data": "mobile_data", "bluetooth": "bluetooth_on"}
    name, to = (process.words[1:] + ["", ""])[:2]
    if name == "power":
        return 0
    if name not in names or to not in ("enable", "disable"):
        return process.fail("usage: svc wifi|data|bluetooth enable|disable")
    process.host.with_phone(lambda phone: queries.put_setting(phone, names[name], str(int(to == "enable"))))
    return 0


def _cmd(process: Process) -> int:
    words = process.words[1:]
    if words[:1] == ["package"]:
        return _pm(process)
    if words[:2] == ["connectivity", "airplane-mode"] and words[2:] in (["enable"], ["disable"]):
        on = str(int(words[2] == "enable"))
        process.host.with_phone(lambda phone: queries.put_setting(phone, "airplane_mode_on", on))
        return 0
    if words[:2] == ["uimode", "night"]:
        if words[2:] in (["yes"], ["no"]):
            dark = "2" if words[2] == "yes" else "1"
            process.host.with_phone(lambda phone: queries.put_setting(phone, "ui_night_mode", dark))
        process.say(f"Night mode: {'yes' if queries.get_setting(process.host.phone, 'ui_night_mode') == '2' else 'no'}")
        return 0
    return process.fail(f"cmd: Can't find service: {' '.join(words[:1])}", 20)


ANDROID: Mapping[str, Program] = {
    "input": _input, "wm": _wm, "screencap": _screencap, "uiautomator": _uiautomator, "settings": _settings,
    "content": _content, "am": _am, "pm": _pm, "cmd": _cmd, "monkey": _monkey, "dumpsys": _dumpsys,
    "getprop": _getprop, "svc": _svc,
}  # fmt: skip
"""Every program by name."""
