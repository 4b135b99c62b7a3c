"""The client of pyapns 0.4.1, unchanged, with carillon pyapns, a worker and the simulator. It is a program of Python 2; Python 3
runs this file again for its own xmlrpc.client. Prints a line for each case, like the others."""

from __future__ import print_function

import json
import subprocess
import sys

IS_PYTHON_2 = sys.version_info[0] == 2
NAME = "pyapns (PyPI)" if IS_PYTHON_2 else "xmlrpc.client (Python)"
ENVIRONMENT = "sandbox"


def token(prefix, number):
    return prefix + format(number, "0%dx" % (64 - len(prefix)))


class Program:
    """A program of Carillon's in the background, and the line that tells its port."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, universal_newlines=True)
        for line in iter(self.process.stderr.readline, ""):
            self.said = json.loads(line)
            if "port" in self.said:
                return
        raise RuntimeError("%s did not start" % words[1])

    def stop(self):
        self.process.terminate()
        self.process.communicate()
        assert self.process.returncode == 0, "it ended with %d" % self.process.returncode


class PyapnsCaller:
    """Calls by the functions of pyapns.client."""

    def __init__(self, port):
        import pyapns.client

        self.module = pyapns.client
        self.module.OPTIONS.clear()
        self.module.OPTIONS.update({"CONFIGURED": False, "TIMEOUT": 20})
        self.module.configure({"HOST": "http://localhost:%d/" % port})

    def provision(self, *arguments):
        return self.module.provision(*arguments)

    def notify(self, *arguments):
        return self.module.notify(*arguments)

    def feedback(self, app):
        return self.module.feedback(app)

    def is_unknown_app(self, error):
        return isinstance(error, self.module.UnknownAppID)


class StandardCaller:
    """Calls by Python's own client, as a user without a path in the URL and with a password does."""

    def __init__(self, port):
        import xmlrpc.client

        self.fault = xmlrpc.client.Fault
        self.proxy = xmlrpc.client.ServerProxy("http://any:none@localhost:%d" % port, allow_none=True, use_builtin_types=True)

    def __getattr__(self, method):
        return getattr(self.proxy, method)

    def is_unknown_app(self, error):
        return isinstance(error, self.fault) and error.faultCode == 404


class Case:
    def __init__(self, carillon, psql, folder):
        self.carillon, self.psql, self.folder = carillon, psql, folder
        self.app = "old" if IS_PYTHON_2 else "new"
        self.log = folder + "/requests.%s.log" % self.app
        self.red = False

    def run(self, *words):
        return subprocess.check_output(words, universal_newlines=True)

    def sql(self, text):
        return self.run(self.psql, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", text).strip()

    def start(self):
        self.door = Program(
            self.carillon, "pyapns", "--port", "0", "--log-format", "json", "--add-apps", "--certificate-folder", self.folder
        )
        port = self.door.said["port"]
        self.client = PyapnsCaller(port) if IS_PYTHON_2 else StandardCaller(port)

    def certificate(self):
        with open(self.folder + "/client.pem") as lines:
            return lines.read()

    def work(self):
        self.run(self.carillon, "worker", "--once")
        with open(self.log) as lines:
            return dict((line["token"], line) for line in map(json.loads, lines))

    def unknown(self):
        try:
            self.client.notify(self.app, token("aa", 1), {"aps": {"alert": "x"}})
        except Exception as error:
            assert self.client.is_unknown_app(error), repr(error)
        else:
            raise AssertionError("an app that nobody provisioned was accepted")

    def provision(self):
        assert self.client.provision(self.app, self.folder + "/client.pem", ENVIRONMENT) is None
        assert self.client.provision(self.app, self.certificate(), ENVIRONMENT, 15) is None
        row = self.sql("SELECT topic, environment FROM carillon.apps WHERE name = '%s'" % self.app)
        assert row == "com.example.acme|sandbox", row

    def one(self):
        self.start_gateway()
        spaced = "%s %s" % (token("aa", 2)[:8], token("aa", 2)[8:])
        assert self.client.notify(self.app, spaced, {"aps": {"alert": u"Gr\xfc\xdfe \u20ac", "badge": 3}, "n": [1, None, 2.5]}) is None
        line = self.work()[token("aa", 2)]
        assert json.loads(line["payload"]) == {"aps": {"alert": u"Gr\xfc\xdfe \u20ac", "badge": 3}, "n": [1, None, 2.5]}, line
        assert line["status"] == 200 and line["topic"] == "com.example.acme", line

    def pairs(self):
        tokens = [token("ab", number) for number in range(100)] + [token("dd", number) for number in range(3)]
        payloads = [{"aps": {"alert": "number %d" % (number % 7)}} for number in range(len(tokens))]
        assert self.client.notify(self.app, tokens, payloads) is None
        lines = self.work()
        for one, payload in zip(tokens, payloads):
            assert json.loads(lines[one]["payload"]) == payload, lines[one]

    def restarted(self):
        self.door.stop()
        self.start()
        assert self.client.notify(self.app, token("ac", 1), {"aps": {"alert": "again"}}) is None
        assert self.work()[token("ac", 1)]["status"] == 200

    def feedback(self):
        entries = self.client.feedback(self.app)
        assert sorted(entry[1] for entry in entries) == [token("dd", number) for number in range(3)], entries
        assert all(hasattr(entry[0], "year") or hasattr(entry[0], "timetuple") for entry in entries), entries
        assert self.client.feedback(self.app) == []

    def start_gateway(self):
        # What other cases have enqueued cannot be sent.
        self.sql("UPDATE carillon.apps SET paused = name <> '%s'" % self.app)
        self.run(
            self.carillon, "app", "set", self.app, "--gateway", "localhost:%d" % self.gateway.said["port"],
            "--gateway-ca", self.folder + "/ca.%s.pem" % self.app,
        )

    def tell(self, name, method):
        try:
            method()
            print("ok", NAME, name, "", sep="\t")
        except Exception as error:
            print("FAILED", NAME, name, ("%s: %s" % (type(error).__name__, error)).replace("\n", " ")[:200], sep="\t")
        sys.stdout.flush()

    def all(self):
        self.gateway = Program(
            self.carillon, "simulator", "--port", "0", "--ca-out", self.folder + "/ca.%s.pem" % self.app, "--log", self.log,
            "--log-format", "json", "--answer", "dd=410:Unregistered",
        )
        self.start()
        try:
            self.tell("an app that nobody provisioned is unknown", self.unknown)
            self.tell("a certificate as a path, and as text", self.provision)
            self.tell("one notification arrives as it was given", self.one)
            self.tell("pairs of tokens and notifications arrive", self.pairs)
            self.tell("nothing is provisioned again after a restart", self.restarted)
            self.tell("feedback returns each dead token once", self.feedback)
        finally:
            self.door.stop()
            self.gateway.stop()


Case(*sys.argv[1:4]).all()
