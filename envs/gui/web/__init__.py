"""Screens in a real Chromium, driven by the Chrome DevTools Protocol (extra ``[web]``)."""
