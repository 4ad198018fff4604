"""The browser's process: found, started with a profile of its own and without a way out of the machine, and cleaned up.

Nothing it asks for leaves loopback: every name and address but 127.0.0.1 is unknown to it, whatever is not for loopback
goes to a proxy that is not there, and what Chromium does in the background (updates, sync, reports) is switched off.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from pathlib import Path

from .cdp import BrowserError, BrowserGone, BrowserTimeout

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALL = "no Chromium was found on this machine; run: apt-get install -y chromium (or give executable=PATH)"
ENVIRONMENT = "TILTYARD_CHROMIUM"
"""Environment variable with the path of the browser to take in place of the first that is found."""

FLAGS = (
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=127.0.0.1:9",  # the discard port; loopback itself is never proxied
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-client-side-phishing-detection",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,"
    "CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,PaintHolding",
    "--no-pings",
    "--no-startup-window",  # it would be painted, and its controls' own pages with it
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-search-engine-choice-screen",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-ipc-flooding-protection",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-popup-blocking",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--mute-audio",
    "--disable-smooth-scrolling",
)

# It ends with its input, which is its parent's hand: also when that is killed. Then the browser's whole group follows,
# and its profile, into which the last of them may still be writing, and the folder elsewhere of a socket of Chromium's,
# to which a link in the profile leads.
WATCHDOG = """
read -r _
kill -9 -"$0" 2>/dev/null
socket=$(readlink "$1/SingletonSocket")
case "$socket" in */*chromium*/SingletonSocket | */*google*/SingletonSocket) rm -rf "${socket%/*}" ;; esac
for i in 1 2 3 4 5 6 7 8; do rm -rf "$1"; sleep 0.05; test -e "$1" || break; done
"""


def find() -> str | None:
    """The path of a Chromium or Chrome (environment variable ``TILTYARD_CHROMIUM``, then the PATH), or None."""
    if named := os.environ.get(ENVIRONMENT):
        return named
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Process:
    """A running Chromium with a temporary profile; it ends with this object, or with this process, however that ends.

    Args:
        executable: path of the browser; None for the first that is found.
        headless: without a window.
        timeout: seconds it may take to start.

    Raises:
        BrowserError: there is none, or it ended at once; the message says what it said.
        BrowserTimeout: it started but did not open its port.
    """

    def __init__(self, executable: str | None = None, headless: bool = True, timeout: float = 30.0) -> None:
        path = executable or find()
        if path is None or shutil.which(path) is None:
            raise BrowserError(INSTALL if path is None else f"{path!r} is no program that can be run as a browser")
        self.profile = Path(tempfile.mkdtemp(prefix="tiltyard-chromium-"))
        command = [path, *FLAGS, f"--user-data-dir={self.profile}"]
        command += ["--headless=new"] if headless else []
        command += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses to start as root
        with (self.profile / "stderr").open("wb") as errors:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        watchdog = subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG, str(self.pid), str(self.profile)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._finish = weakref.finalize(self, _end, self._popen, watchdog, os.getpid())
        self.endpoint = self._wait_for_port(time.monotonic() + timeout, timeout)

    def _wait_for_port(self, deadline: float, timeout: float) -> str:
        """``127.0.0.1:PORT/devtools/browser/ID`` once the browser has written it into its profile."""
        written = self.profile / "DevToolsActivePort"
        while True:
            lines = written.read_text().splitlines() if written.exists() else []
            if len(lines) == 2:
                return f"127.0.0.1:{lines[0]}{lines[1]}"
            if not self.alive():
                said = self.said()
                self.kill()
                raise BrowserGone(f"the browser ended as it started; it said: {said}")
            if time.monotonic() > deadline:
                said = self.said()
                self.kill()
                raise BrowserTimeout(f"the browser did not open its port within {timeout:g} s; it said: {said}")
            time.sleep(0.01)

    def alive(self) -> bool:
        """Whether the browser's own process runs (it may be stopped)."""
        return self._popen.poll() is None

    def said(self) -> str:
        """The end of what the browser wrote to its standard error, at most 500 characters; "" after :meth:`kill`."""
        errors = self.profile / "stderr"
        return errors.read_text(errors="replace")[-500:].strip() if errors.exists() else ""

    def kill(self) -> None:
        """Ends the browser with all its renderers, stopped ones too, and removes its profile; twice does nothing."""
        self._finish()


def _end(popen: "subprocess.Popen[bytes]", watchdog: "subprocess.Popen[bytes]", owner: int) -> None:
    """Lets the watchdog do its work; a forked copy of the owner leaves the browser alone."""
    if os.getpid() != owner:
        return
    if popen.poll() is None:
        os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
    assert watchdog.stdin is not None
    watchdog.stdin.close()
    watchdog.wait()
