#!/usr/bin/env python3
"""Opens the built documentation in Chromium, as readers do: navigation, search, phone width, dark, and every page.

usage: scripts/check_site.py BOOK [PICTURES]

Checks on the site that `make docs` has built in BOOK:

* every page is reached from the navigation, and no page writes an error to the console or asks for anything outside of BOOK;
* the search finds a page by a word of its title, without any network, and its result can be followed;
* at 360 and at 1280 points no page is wider than the window: tables and code scroll inside of it;
* the dark theme follows the preference of the browser, and text has a contrast of at least 4.5 in both.

With PICTURES, a picture of some pages is written there for each width and theme. Chromium is driven over a pipe, by its DevTools protocol.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Iterator

WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")
PICTURED = ("index.html", "policies.html", "scenarios.html", "first-study.html")
CONTRAST = 4.5
PATIENCE = 60

# What is wider than the window although nothing around it scrolls.
TOO_WIDE = """(() => {
  const limit = document.documentElement.clientWidth + 1;
  const scrolls = it => it && it !== document.body
    && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(it).overflowX) || scrolls(it.parentElement));
  return [...document.querySelectorAll('main *')]
    .filter(it => it.getBoundingClientRect().right > limit && !scrolls(it))
    .map(it => it.tagName + ': ' + it.textContent.trim().slice(0, 60)).slice(0, 3);
})()"""

# Contrast of text and background where both are plain colours (WCAG 2).
LOWEST_CONTRAST = """(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = it => {
    for (; it; it = it.parentElement) {
      const colour = parts(getComputedStyle(it).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let lowest = [21, ''];
  for (const it of document.querySelectorAll('main p, main li, main td, main a, main h1, main h2')) {
    const [one, other] = [parts(getComputedStyle(it).color), behind(it)].map(light).sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, it.tagName + ': ' + it.textContent.trim().slice(0, 40)];
  }
  return lowest;
})()"""

SEARCH = """(async word => {
  const wait = ms => new Promise(done => setTimeout(done, ms));
  document.getElementById('mdbook-search-toggle').click();
  const bar = document.getElementById('mdbook-searchbar');
  for (let i = 0; i < 200; i++) {
    bar.value = word;
    bar.dispatchEvent(new KeyboardEvent('keyup'));
    bar.dispatchEvent(new Event('input'));
    await wait(50);
    const found = [...document.querySelectorAll('#mdbook-searchresults a')].map(it => it.href);
    if (found.length) return found;
  }
  return [];
})"""


class Browser:
    """Headless Chromium, one page."""

    def __init__(self, program: str, profile: Path) -> None:
        (read, self.write), (self.read, write) = os.pipe(), os.pipe()

        def pipes() -> None:
            os.dup2(read, 3)
            os.dup2(write, 4)

        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
                   "--disable-background-networking", f"--user-data-dir={profile}"]  # fmt: skip
        self.process = subprocess.Popen(
            [program, *options, "about:blank"], preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(read)
        os.close(write)
        self.buffer, self.number, self.session = b"", 0, None
        self.complaints: list[str] = []
        # A browser that does not answer ends the test.
        self.alarm = threading.Timer(PATIENCE, self.process.kill)
        self.alarm.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            part = os.read(self.read, 1 << 16)
            if not part:
                raise SystemExit("error: the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("text", "exception"))
        if method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("http://127.0.0.1:", "data:")):
            self.complaints.append(f"asks for {params['request']['url']}")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            self.note(answer)
        if "error" in answer:
            raise SystemExit(f"error: {method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url: str) -> None:
        self.alarm.cancel()
        self.alarm = threading.Timer(PATIENCE, self.process.kill)
        self.alarm.start()
        self.call("Page.navigate", url=url)
        while (event := self.message()).get("method") != "Page.loadEventFired":
            self.note(event)

    def run(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"error: {result['exceptionDetails']['exception'].get('description', 'exception')}")
        return result["result"].get("value")

    def view(self, width: int, scheme: str) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        self.alarm.cancel()
        self.process.kill()
        self.process.wait()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def pages(browser: Browser, base: str) -> list[str]:
    """The pages in the navigation, in its order."""
    browser.open(f"{base}/index.html")
    links = browser.run("[...document.querySelectorAll('#mdbook-sidebar a')].map(it => it.href.split('#')[0])")
    return list(dict.fromkeys(link.removeprefix(f"{base}/") for link in links if link.startswith(base)))


def navigation_faults(found: list[str], book: Path) -> Iterator[str]:
    aside = {"404.html", "toc.html", "print.html", "index.html"}
    written = {file.relative_to(book).as_posix() for file in book.glob("**/*.html")} - aside
    yield from (f"{page} is not in the navigation" for page in sorted(written - set(found)))


def search_faults(browser: Browser, base: str) -> Iterator[str]:
    for word, page in (("troubleshooting", "troubleshooting.html"), ("glossary", "glossary.html"), ("earliest_completion", "policies.html")):
        browser.open(f"{base}/index.html")
        found = browser.run(f"{SEARCH}({json.dumps(word)})")
        hit = next((link for link in found if f"/{page}" in link), None)
        if hit is None:
            yield f"the search for {word!r} does not find {page}, but {found[:3]}"
            continue
        browser.open(hit)
        if word.split("_")[0] not in browser.run("document.querySelector('main').textContent.toLowerCase()"):
            yield f"the result {hit} does not have {word!r}"


def page_faults(browser: Browser, base: str, page: str, pictures: Path | None) -> Iterator[str]:
    browser.complaints.clear()
    browser.view(WIDTHS[-1], SCHEMES[0])
    browser.open(f"{base}/{page}")
    backgrounds = set()
    for scheme in SCHEMES:
        for width in WIDTHS:
            browser.view(width, scheme)
            for wide in browser.run(TOO_WIDE):
                yield f"{page} at {width} points: wider than the window: {wide}"
            if pictures and page in PICTURED:
                browser.open(f"{base}/{page}")
                browser.picture(pictures / f"{Path(page).stem}-{width}-{scheme}.png")
        browser.open(f"{base}/{page}")
        contrast, what = browser.run(LOWEST_CONTRAST)
        if contrast < CONTRAST:
            yield f"{page}, {scheme}: contrast {contrast:.1f}: {what}"
        backgrounds.add(browser.run("getComputedStyle(document.documentElement).backgroundColor"))
    if len(backgrounds) < len(SCHEMES):
        yield f"{page}: the same background in light and dark"
    yield from (f"{page}: {complaint}" for complaint in browser.complaints)


def check(browser: Browser, base: str, book: Path, pictures: Path | None) -> Iterator[str]:
    found = pages(browser, base)
    yield from navigation_faults(found, book)
    yield from search_faults(browser, base)
    for page in found:
        yield from page_faults(browser, base, page, pictures)
    print(f"site: {len(found)} pages, {len(WIDTHS)} widths, {len(SCHEMES)} themes")


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    book = Path(arguments[0]).resolve()
    pictures = Path(arguments[1]) if len(arguments) == 2 else None
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        required = "browser" in os.environ.get("POLYPATH_REQUIRE", "").split(",")
        print("error: Chromium was not found" if required else "SKIPPED: Chromium was not found")
        return 1 if required else 0
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(book)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        browser, count = Browser(program, Path(profile)), 0
        try:
            for fault in check(browser, f"http://127.0.0.1:{server.server_port}", book, pictures):
                print(fault, flush=True)
                count += 1
        finally:
            browser.close()
            server.shutdown()
    print("site: see above" if count else "site: in order")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
