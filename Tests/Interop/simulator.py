"""The simulator as a process, for clients that others wrote."""

import json
import os
import subprocess


def token(prefix, number):
    return prefix + format(number, "0%dx" % (64 - len(prefix)))


class Simulator:
    def __init__(self, carillon, folder, *options):
        self.log = folder + "/requests.log"
        # The simulator appends, and each witness looks at its own requests.
        if os.path.exists(self.log):
            os.remove(self.log)
        self.ca = folder + "/ca.pem"
        self.process = subprocess.Popen(
            [
                carillon, "simulator", "--port", "0", "--binary-port", "0", "--feedback-port", "0",
                "--ca-out", self.ca, "--log", self.log, "--log-format", "json",
                "--answer", "bb=400:BadDeviceToken", "--answer", "dd=410", *options,
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stderr:
            said = json.loads(line)
            if said["message"] == "The simulator is listening.":
                self.port, self.binary, self.feedback = said["port"], said["binary_port"], said["feedback_port"]
                self.channels = said.get("channel_port")
                return
        raise RuntimeError("the simulator did not start")

    def requests(self):
        with open(self.log) as lines:
            return [json.loads(line) for line in lines]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run(name, cases, simulator, *arguments):
    """Runs the cases, and prints a line for each."""
    for case in cases:
        try:
            case(simulator, *arguments)
            print("ok", name, case.__name__.replace("_", " "), "", sep="\t", flush=True)
        except Exception as error:
            print("FAILED", name, case.__name__, repr(error), sep="\t", flush=True)
