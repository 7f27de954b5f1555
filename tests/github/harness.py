"""What the tests of reconciler-github share: the helper, a GitHub on loopback, and the keeper of what is remembered.

By the environment: RECONCILER_GITHUB (the program), REC_TEST_DATA. Every test looks at all that was produced for the token.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HELPER = os.environ.get("RECONCILER_GITHUB", "")
DATA = pathlib.Path(os.environ["REC_TEST_DATA"]) / "github"
HERE = pathlib.Path(__file__).parent
NODE = shutil.which("node")
TOKEN = "ghp_" + "Th1sIsTheT0ken" * 2
SKIPPED = 77


def require():
    """Says why the tests cannot run here, and lets meson count them as skipped."""
    missing = "reconciler-github (libcurl was not found)" if not HELPER else "node (Debian: nodejs)" if not NODE else None
    if missing:
        print(f"skipped: {missing}")
        raise SystemExit(SKIPPED)


class Loopback:
    """A GitHub on 127.0.0.1 playing one scenario."""

    def __init__(self, log, scenario, argument=""):
        self.log = log
        self.log.touch()
        self.process = subprocess.Popen([NODE, str(HERE / "loopback.mjs"), str(DATA), str(log), scenario, argument],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self):
        """All requests, as they were logged."""
        self.process.communicate(timeout=30)
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def close(self):
        pass


class Helper:
    """A running reconciler-github."""

    def __init__(self, directory, arguments, environment):
        self.out = open(directory / "helper.out", "ab")
        self.err = open(directory / "helper.err", "ab")
        self.process = subprocess.Popen([HELPER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.err, env=environment, cwd=directory)
        self.last = 0

    def send(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        self.out.write(line)
        self.out.flush()
        return json.loads(line)

    def ask(self, method, **keys):
        self.last += 1
        self.send({"id": self.last, "method": method, **keys})
        answer = self.read()
        assert answer["id"] == self.last, answer
        return answer

    def end(self):
        out, _ = self.process.communicate(timeout=30)
        self.out.write(out)
        self.close()
        return self.process.returncode

    def close(self):
        self.out.close()
        self.err.close()


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-github-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.directory), "LC_ALL": "C.UTF-8", "no_proxy": "*"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "MALLOC_PERTURB_"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.running = []
        self.addCleanup(self.end_all)
        self.forget()

    def forget(self):
        self.kept = {}  # url -> validator
        self.cursors = {}

    def end_all(self):
        for one in reversed(self.running):
            if one.process.poll() is None:
                one.process.kill()
                one.process.communicate()
            one.close()

    def github(self, scenario, argument=""):
        loopback = Loopback(self.directory / f"requests-{len(self.running)}", scenario, argument)
        self.running.append(loopback)
        return loopback

    def helper(self, loopback, *arguments, token=TOKEN, **environment):
        names = dict(self.environment, **environment)
        if token:
            names["GITHUB_TOKEN"] = token
        helper = Helper(self.directory, ["--api-url", loopback.url if loopback else "http://127.0.0.1:9", *arguments], names)
        self.running.append(helper)
        return helper

    def fetch(self, helper, *paths, **keys):
        """One pass as a conductor would ask, keeping what is to be kept. Gives the observations by path, and the rest."""
        urls = [f"https://github.com/{path}" for path in paths]
        links = [{"url": url, "validator": self.kept.get(url)} for url in urls]
        answer = helper.ask("fetch", links=links, cursors=self.cursors, **dict({"deadline_ms": 20000}, **keys))
        observations = {o["url"].removeprefix("https://github.com/"): o for o in answer.pop("observations")}
        self.assertEqual(list(observations), list(paths))
        for observation in observations.values():
            if observation.get("validator"):
                self.kept[observation["url"]] = observation["validator"]
        for key, value in answer.get("cursors", {}).items() if "problem" not in answer else ():
            self.cursors.pop(key, None)
            if value is not None:
                self.cursors[key] = value
        return observations, answer

    def one(self, scenario, argument="", path="acme/app/issues/7", **keys):
        """A scenario with one link: its observation, the answer, the requests."""
        loopback = self.github(scenario, argument)
        helper = self.helper(loopback)
        observations, answer = self.fetch(helper, path, **keys)
        self.assertEqual(helper.end(), 0)
        return observations[path], answer, self.requests(loopback)

    def requests(self, loopback):
        requests = loopback.end()
        for request in requests:
            self.assertTrue(request["proper"], request)
        return requests

    def tearDown(self):
        """Nothing that was produced holds the token."""
        for path in self.directory.rglob("*"):
            if path.is_file() and path.name != "token":  # a FIFO is no file
                self.assertNotIn(TOKEN.encode(), path.read_bytes(), path)
        for text in (*self.kept.values(), *self.cursors.values()):
            self.assertNotIn(TOKEN, text)


def main():
    require()
    unittest.main()
