"""A worker of Carillon's with the gateway of binary_gateway.py: every push ends as that gateway says, and none is sent twice.
Prints a line for each case, like the others."""

import json
import subprocess
import sys

NAME = "worker with a gateway in Python"
GOOD, BAD = 500, 5


def tell(case, wrong=None):
    print("FAILED" if wrong else "ok", NAME, case, wrong or "", sep="\t", flush=True)


def main(carillon, psql, folder):
    def run(*words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def sql(text):
        return run(psql, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", text).strip()

    server = subprocess.Popen(
        [sys.executable, "Tests/Interop/binary_gateway.py", folder + "/server.pem"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    gateway = "localhost:" + server.stdout.readline().strip()
    run(carillon, "credential", "import", "acme", "--file", folder + "/client.pem", "--yes")
    run(
        carillon, "app", "add", "acme", "--topic", "com.example.acme", "--credential", "acme", "--protocol", "binary",
        "--gateway", gateway, "--gateway-ca", folder + "/server.pem",
    )
    # What the drivers have enqueued for the other app cannot be sent.
    sql("UPDATE carillon.apps SET paused = true WHERE name = 'demo'")
    sql(
        """SELECT count(carillon.enqueue('acme', ARRAY[p || lpad(to_hex(n), 62, '0')], 'Hello'))
           FROM (SELECT 'aa', n FROM generate_series(1, %d) n UNION ALL SELECT 'bb', n * 90 FROM generate_series(1, %d) n)
           t (p, n)""" % (GOOD, BAD)
    )
    run(carillon, "worker", "--once")
    said, _ = server.communicate("")
    seen = json.loads(said)
    tokens = ["aa" + format(number, "062x") for number in range(1, GOOD + 1)]
    tell("every good token arrives once", None if sorted(seen["accepted"]) == tokens else "%d arrived" % len(seen["accepted"]))
    failures = sql("SELECT count(*), min(status), min(reason) FROM carillon.failures WHERE token LIKE 'bb%'")
    tell("every bad token fails with the reason", None if failures == "%d|8|BadDeviceToken" % BAD else failures)
    tell("what arrives is well-formed", "; ".join(seen["faults"][:3]))


main(*sys.argv[1:])
