"""Pages for a batch of environments, spread over several browsers; what crashes is thrown away and opened anew."""

from collections.abc import Callable
from typing import Any

from .browser import Browser, BrowserError, BrowserGone, Page

ATTEMPTS = 3
"""Times that a page is opened before its error reaches the caller."""


class Tabs:
    """One page an environment; environment i lives in browser ``i % browsers``. Nothing is opened before it is needed.

    Args:
        num_envs: pages.
        browsers: browsers, at most ``num_envs``.
        launch: starts a browser.
        open_page: opens an environment's page in it.
    """

    def __init__(
        self, num_envs: int, browsers: int, launch: Callable[[], Browser], open_page: Callable[[Browser], Page]
    ) -> None:
        if not 1 <= browsers <= num_envs:
            raise ValueError(f"browsers must be from 1 to the number of environments ({num_envs}), got {browsers}")
        self._browsers: list[Browser | None] = [None] * browsers
        self._pages: list[Page | None] = [None] * num_envs
        self._launch, self._open = launch, open_page
        self.restarts = 0
        """Browsers started because another one had gone."""

    def page(self, index: int) -> Page:
        """The open page of an environment.

        Raises:
            BrowserGone: it was dropped; :meth:`ready` opens another.
        """
        page = self._pages[index]
        if page is None:
            raise BrowserGone(f"the page of environment {index} was dropped after an error")
        return page

    def ready(self, index: int) -> Page:
        """The page of an environment, opened if need be, in a browser started if need be."""
        for attempt in range(ATTEMPTS):
            try:
                if self._pages[index] is None:
                    self._pages[index] = self._open(self._browser(index))
                return self.page(index)
            except BrowserError:
                self._stop(index)
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def drop(self, index: int, error: BrowserError) -> None:
        """Throws a page away after an error; a browser that hangs or is gone goes with it, and so do all its pages."""
        page, self._pages[index] = self._pages[index], None
        browser = self._browsers[index % len(self._browsers)]
        if isinstance(error, TimeoutError) or browser is None or not browser.alive():
            self._stop(index)
        elif page is not None:
            try:
                page.close()
            except BrowserError:
                self._stop(index)

    def close_pages(self) -> None:
        """Closes all pages; the browsers go on."""
        for index, page in enumerate(self._pages):
            self._pages[index] = None
            if page is not None:
                try:
                    page.close()
                except BrowserError as error:
                    self.drop(index, error)

    def close(self) -> None:
        """Ends all browsers."""
        for slot in range(len(self._browsers)):
            self._stop(slot)

    def _browser(self, index: int) -> Browser:
        slot = index % len(self._browsers)
        browser = self._browsers[slot]
        if browser is not None and not browser.alive():
            self._stop(index)
            browser = None
        if browser is None:
            browser = self._browsers[slot] = self._launch()
        return browser

    def _stop(self, index: int) -> None:
        slot = index % len(self._browsers)
        browser, self._browsers[slot] = self._browsers[slot], None
        if browser is not None:
            self.restarts += 1
            browser.close()
        self._pages[slot :: len(self._browsers)] = [None] * len(self._pages[slot :: len(self._browsers)])


def each(indices: list[int], do: Callable[[int], Any], failed: Callable[[int, BrowserError], None]) -> dict[int, Any]:
    """What ``do`` returns for each index; a :class:`BrowserError` goes to ``failed`` instead."""
    done: dict[int, Any] = {}
    for index in indices:
        try:
            done[index] = do(index)
        except BrowserError as error:
            failed(index, error)
    return done
