"""Debian's Chromium without a window, driven by its own protocol: opens one file, clicks, runs expressions, takes pictures."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

#: Seconds after which a browser that does not answer is given up: a software renderer on a busy machine is slow.
PATIENCE = 60.0

FLAGS = [
    "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--use-gl=angle",
    "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--no-first-run", "--mute-audio", "--hide-scrollbars",
    "--window-size=1400,900", "--remote-debugging-port=0",
]  # fmt: skip


def find() -> str:
    """The program; an error that says how to get it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("this test needs Chromium: apt-get install chromium")


class Browser:
    """One page. Every request that it makes is written down."""

    def __init__(self) -> None:
        from websockets.sync.client import connect

        self._folder = tempfile.mkdtemp(prefix="thud-chromium-")
        command = [find(), *FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._number = 0
        try:
            port, path = self._address()
            # The only connection is to this machine's browser; a proxy has no part in it.
            self._socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None, proxy=None)
            target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
            self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def _address(self) -> tuple[str, str]:
        file = Path(self._folder) / "DevToolsActivePort"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            lines = file.read_text().split() if file.exists() else []
            if len(lines) == 2:
                return lines[0], lines[1]
            if self._process.poll() is not None:
                raise RuntimeError(f"chromium ended with {self._process.returncode}")
            time.sleep(0.05)
        raise RuntimeError("chromium did not start")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        """One command of the protocol, to the page."""
        return self._call(method, parameters, self._session)

    def _call(self, method: str, parameters: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        self._socket.send(json.dumps(message))
        until = time.monotonic() + PATIENCE
        while True:
            answer = json.loads(self._socket.recv(timeout=max(until - time.monotonic(), 0.1)))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"])[:2000])
        elif event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        found = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {json.dumps(found['exceptionDetails'])[:2000]}")
        return found["result"].get("value")

    def open(self, path: str | os.PathLike[str]) -> None:
        """A file, until its program has run."""
        self.call("Page.navigate", {"url": Path(path).resolve().as_uri()})
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def wait(self, expression: str) -> None:
        """Until it is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(expression):
            if time.monotonic() > until:
                raise RuntimeError(f"never true: {expression}; errors: {self.errors}")
            time.sleep(0.05)

    def painted(self) -> None:
        """Until what was asked for is on the screen."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def click(self, selector: str) -> None:
        """The middle of an element, by the mouse."""
        middle = "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
        middle += " return [b.x + b.width / 2, b.y + b.height / 2];"
        box = self.run(f"((e) => {{ {middle} }})(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *box)

    def mouse(self, kind: str, x: float, y: float, button: str = "left") -> None:
        """One event of the mouse, in pixels of the page."""
        about = {"type": kind, "x": x, "y": y, "button": button, "buttons": 1, "clickCount": 1}
        self.call("Input.dispatchMouseEvent", about)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """With the left button, in ten steps."""
        self.mouse("mousePressed", *start)
        for k in range(1, 11):
            self.mouse("mouseMoved", *(a + (b - a) * k / 10 for a, b in zip(start, end)))
        self.mouse("mouseReleased", *end)

    def type(self, text: str) -> None:
        """Into what has the focus."""
        self.call("Input.insertText", {"text": text})

    def screenshot(self, path: str | os.PathLike[str]) -> None:
        """What the window shows, as a PNG file."""
        self.painted()
        found = self.call("Page.captureScreenshot", {"format": "png"})
        Path(path).write_bytes(base64.b64decode(found["data"]))
