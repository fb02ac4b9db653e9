# SPDX-License-Identifier: GPL-2.0-or-later
"""Open a page in a headless Chromium with a viewport of an exact size, which its window cannot have
(a window is at least 500 pixels wide), and print the document after its scripts ran.

browse.py BROWSER URL WIDTH HEIGHT DIRECTORY

Messages on the console, and exceptions, go to stderr as lines "CONSOLE ...".  The browser is spoken
to by the DevTools protocol over a pipe: JSON, each message with a NUL.  DIRECTORY is its profile.
"""
import json
import os
import subprocess
import sys

SECONDS = 110


class Browser:
    def __init__(self, program, directory):
        read_end, self.write_fd = os.pipe()
        self.read_fd, write_end = os.pipe()

        def take_pipes():  # the browser wants them as 3 and 4
            high = os.dup(read_end), os.dup(write_end)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ["timeout", str(SECONDS), program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--user-data-dir=" + directory,
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=take_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        os.close(read_end)
        os.close(write_end)
        self.rest, self.n, self.events, self.session = b"", 0, [], None

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.read_fd, 1 << 16)
            if not more:
                sys.exit("the browser is gone")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.note(message)
        return message

    def note(self, message):
        method, params = message["method"], message["params"]
        self.events.append(method)
        if method == "Runtime.consoleAPICalled":
            words = [str(arg.get("value", arg.get("description"))) for arg in params["args"]]
            print("CONSOLE", params["type"], *words, file=sys.stderr)
        elif method == "Runtime.exceptionThrown":
            print("CONSOLE exception", params["exceptionDetails"], file=sys.stderr)
        elif method == "Log.entryAdded":
            print("CONSOLE", params["entry"]["level"], params["entry"]["text"], file=sys.stderr)

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") != self.n:
                continue
            if "error" in answer:
                sys.exit("%s: %s" % (method, answer["error"]))
            return answer["result"]

    def open(self, url, width, height):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.events.clear()
        failed = self.call("Page.navigate", url=url).get("errorText")
        if failed:
            sys.exit("%s: %s" % (url, failed))
        while "Page.loadEventFired" not in self.events:
            self.receive()

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression)["result"]["value"]

    def close(self):
        os.close(self.write_fd)  # the browser ends without its client
        os.close(self.read_fd)
        self.process.wait()


def main():
    program, url, width, height, directory = sys.argv[1:]
    browser = Browser(program, directory)
    try:
        browser.open(url, int(width), int(height))
        size = browser.value("innerWidth + ' ' + innerHeight")
        if size != "%s %s" % (width, height):
            sys.exit("the viewport is %s, not %s %s" % (size, width, height))
        print(browser.value("document.documentElement.outerHTML"))
    finally:
        browser.close()


main()
