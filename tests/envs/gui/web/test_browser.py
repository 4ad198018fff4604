"""The driver against a real Chromium: what it sends arrives, what goes wrong is said, and nothing stays behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tiltyard import MissingExtra
from tiltyard.envs.gui.web import process
from tiltyard.envs.gui.web.browser import (
    Browser,
    BrowserError,
    BrowserGone,
    BrowserTimeout,
    Page,
    ProtocolError,
    ScriptError,
)
from tiltyard.envs.gui.web.cdp import Connection

pytestmark = pytest.mark.web
HTML = """<body style='margin:0; background:#204060'>
<input id=words style='position:absolute; left:10px; top:10px; width:100px; height:20px'>
<button style='position:absolute; left:10px; top:60px; width:50px; height:20px' onclick='presses.push(event.detail)'>ok
</button><button style='position:absolute; left:80px; top:60px; width:50px; height:20px' onclick='alert(1)'>!</button>
<script>var presses = [], moves = []; onmousemove = event => moves.push([event.clientX, event.clientY, event.buttons])
</script></body>"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("pages") / "page.html"
    page.write_text(HTML)
    return page.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.launch(timeout=20) as one:
        yield one


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    one = browser.page(url, 160, 210)
    yield one
    one.close()


def processes(group: int) -> dict[int, str]:
    """Command lines of a group's processes that are no zombies."""
    listed = subprocess.run(["ps", "-eo", "pid,pgid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()[1:]]
    return {int(row[0]): row[3] for row in rows if int(row[1]) == group and not row[2].startswith("Z")}


def renderers(browser: Browser) -> list[int]:
    return [pid for pid, line in processes(browser.process.pid).items() if "--type=renderer" in line]


def gone(browser: Browser) -> bool:
    """Whether all of it has ended, within a second or ten: the kernel takes its time on a busy machine."""
    deadline = time.monotonic() + 10
    while processes(browser.process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes(browser.process.pid) and not browser.process.profile.exists()


def test_the_folder_of_chromiums_socket_goes_with_it() -> None:
    browser = Browser.launch(timeout=20)
    socket = browser.process.profile / "SingletonSocket"
    deadline = time.monotonic() + 10
    while not socket.is_symlink() and time.monotonic() < deadline:
        time.sleep(0.02)
    folder = socket.readlink().parent
    assert folder.is_dir()
    browser.close()
    assert gone(browser)
    assert not folder.exists()


def test_the_mouse_hits_what_is_under_it(page: Page) -> None:
    page.click(20, 70)
    page.click(20, 70, clicks=2)
    page.click(150, 200)
    page.click(-5, 1e6)
    assert page.evaluate("presses") == [1, 1, 2]
    page.evaluate("moves.length = 0")
    page.drag([(20, 150), (30, 160), (40, 190)])
    moves = page.evaluate("moves")
    assert [40, 190, 1] in moves
    assert all(held == 1 for _, _, held in moves)


def test_what_is_typed_is_a_field_s_value_and_no_html(page: Page) -> None:
    page.click(50, 20)
    page.type("<b>A&\"'\\</b> é 漢字 5%")
    assert page.evaluate("words.value") == "<b>A&\"'\\</b> é 漢字 5%"
    page.key("Control+a")
    page.type("x" * 10_000)
    assert page.evaluate("words.value.length") == 10_000
    page.key("Control+a")
    page.key("Backspace")
    assert page.evaluate("words.value") == ""
    page.key("Shift+Tab")
    assert page.evaluate("document.activeElement.id") != "words"


def test_unknown_keys_are_refused(page: Page) -> None:
    for name in ("Entr", "Contrl+a", "", "é"):
        with pytest.raises(ValueError, match="unknown"):
            page.key(name)


def test_a_screenshot_is_the_viewport(page: Page) -> None:
    frame = page.screenshot()
    assert frame.shape == (210, 160, 3)
    assert frame.dtype == np.uint8
    assert frame[200, 150].tolist() == [0x20, 0x40, 0x60]


def test_values_and_exceptions_of_scripts_come_back(page: Page) -> None:
    assert page.evaluate("({a: [1, 'é', null]})") == {"a": [1, "é", None]}
    assert page.evaluate("undefined") is None
    assert page.evaluate("new Promise(done => setTimeout(() => done(3), 10))") == 3
    with pytest.raises(ScriptError, match="nope is not defined"):
        page.evaluate("nope()")
    with pytest.raises(ScriptError, match="SyntaxError"):
        page.evaluate("((")
    with pytest.raises(ProtocolError, match="wasn't found"):
        page.call("No.such")


def test_dialogs_do_not_stop_a_page(page: Page) -> None:
    page.click(90, 70)
    assert page.evaluate("confirm('sure?')") is False


def test_nothing_but_loopback_is_reached(browser: Browser, page: Page) -> None:
    for address in ("http://10.0.0.1/", "http://example.com/", "http://[2001:db8::1]/"):
        with pytest.raises(BrowserError, match="cannot open"):
            page.goto(address)
    said = page.evaluate("fetch('http://10.0.0.1/').then(() => 'reached', () => 'refused')")
    assert said == "refused"


def test_a_command_s_answer_is_given_once(page: Page) -> None:
    number = page.ask("1")
    assert page.value(number) == 1
    with pytest.raises(ValueError, match="never sent, or its answer has been given"):
        page.result(number)


def test_an_endless_script_times_out_and_its_page_can_be_closed(browser: Browser, url: str) -> None:
    one = browser.page(url, 160, 210)
    with pytest.raises(BrowserTimeout):
        one.evaluate("for (;;);", timeout=0.3)
    one.close()
    with pytest.raises(BrowserGone, match="the page was closed"):
        one.evaluate("1")
    assert browser.alive()


def test_a_dead_renderer_is_told_from_a_dead_browser(url: str) -> None:
    with Browser.launch() as browser:
        page = browser.page(url, 160, 210)
        for pid in renderers(browser):
            os.kill(pid, signal.SIGKILL)
        for act in (lambda: page.evaluate("1"), lambda: page.click(1, 1), page.screenshot):
            with pytest.raises(BrowserGone, match="renderer has died"):
                act()
        page.close()
        assert browser.alive()
        assert browser.page(url, 160, 210).evaluate("1 + 1") == 2


def test_a_stopped_browser_times_out_and_is_killed(url: str) -> None:
    browser = Browser.launch(timeout=20)
    page = browser.page(url, 160, 210)
    os.killpg(browser.process.pid, signal.SIGSTOP)
    with pytest.raises(BrowserTimeout, match="did not answer in time"):
        page.evaluate("1", timeout=0.2)
    assert browser.alive()
    browser.close()
    assert gone(browser)


def test_a_closed_browser_is_gone(url: str) -> None:
    browser = Browser.launch()
    page = browser.page(url, 160, 210)
    browser.close()
    browser.close()
    for act in (lambda: page.evaluate("1"), lambda: browser.page(url, 160, 210)):
        with pytest.raises(BrowserGone, match="it was closed"):
            act()
    page.close()
    assert gone(browser)


def test_a_killed_browser_is_gone(url: str) -> None:
    browser = Browser.launch()
    page = browser.page(url, 160, 210)
    os.kill(browser.process.pid, signal.SIGKILL)
    with pytest.raises(BrowserGone):
        page.evaluate("1")
    with pytest.raises(BrowserGone):
        browser.page(url, 160, 210)
    page.close()
    browser.close()
    assert gone(browser)


def test_a_browser_ends_with_a_parent_that_is_killed() -> None:
    code = "from tiltyard.envs.gui.web.browser import Browser; import time; b = Browser.launch()\n"
    code += "print(b.process.pid, b.process.profile, flush=True); time.sleep(100)"
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    pid, profile = parent.stdout.readline().split()
    assert processes(int(pid))
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while (processes(int(pid)) or Path(profile).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes(int(pid))
    assert not Path(profile).exists()


def test_a_forked_copy_leaves_the_browser_alone(browser: Browser, page: Page) -> None:
    child = os.fork()
    if child == 0:
        browser.close()
        browser.process.kill()
        os._exit(0)
    os.waitpid(child, 0)
    assert page.evaluate("1") == 1


def test_what_is_no_browser_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrowserError, match="no program that can be run"):
        Browser.launch("/not/there")
    with pytest.raises(BrowserGone, match="ended as it started"):
        Browser.launch("/bin/false")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrowserError, match="apt-get install -y chromium"):
        Browser.launch()


def test_another_browser_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(process.ENVIRONMENT, "/bin/false")
    with pytest.raises(BrowserGone, match="ended as it started"):
        Browser.launch()


def test_a_missing_websocket_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websocket", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[web\]"):
        Connection("ws://127.0.0.1:1/")
