"""A client of the legacy binary protocol that others wrote, apns-client 0.2.1 from PyPI, with the simulator's gateway and
feedback service. Prints a line for each case: its result, the driver, the case, and what was wrong."""

import sys
import time

import OpenSSL.SSL

# The only change: a constant that today's pyOpenSSL no longer has.
OpenSSL.SSL.SSLv3_METHOD = OpenSSL.SSL.TLS_METHOD

from apnsclient import APNs, Message, Session  # noqa: E402
from simulator import Simulator, run, token  # noqa: E402

NAME = "apns-client (PyPI)"


def send_one(simulator, certificate):
    connection = Session(read_tail_timeout=1).get_connection(("localhost", simulator.binary), cert_string=certificate)
    result = APNs(connection).send(Message([token("aa", 1)], alert="Hello", badge=1, sound="default", expiry=1700000000))
    assert not result.failed and not result.errors and not result.needs_retry(), result
    line = simulator.requests()[-1]
    assert line["token"] == token("aa", 1) and line["status"] == 200, line
    assert line["payload"] == '{"aps":{"alert":"Hello","badge":1,"sound":"default"}}', line
    assert (line["priority"], line["expiration"], line["topic"]) == (10, 1700000000, "com.example.acme"), line


def refused_and_retried(simulator, certificate):
    session = Session(read_tail_timeout=1)
    tokens = [token("aa", 10 + number) for number in range(20)]
    tokens[7] = token("bb", 7)
    before = len(simulator.requests())
    message = Message(tokens, alert="Hi")
    for _ in range(2):
        connection = session.get_connection(("localhost", simulator.binary), cert_string=certificate)
        result = APNs(connection).send(message)
        if message.tokens == tokens:
            assert result.failed == {tokens[7]: (8, "Invalid token")}, result.failed
        if not result.needs_retry():
            break
        message = result.retry()
    taken = [line["token"] for line in simulator.requests()[before:] if line["status"] == 200]
    assert taken == tokens[:7] + tokens[8:], taken


def feedback(simulator, certificate):
    session = Session(read_tail_timeout=1)
    connection = session.get_connection(("localhost", simulator.binary), cert_string=certificate)
    dead = token("dd", 1)
    now = time.time()
    assert not APNs(connection).send(Message([dead], alert="Hi")).failed
    listed = session.new_connection(("localhost", simulator.feedback), cert_string=certificate)
    entries = [(name.decode() if isinstance(name, bytes) else name, when) for name, when in APNs(listed).feedback()]
    assert [name for name, _ in entries] == [dead], entries
    assert abs(entries[0][1].timestamp() - now) < 60, entries


def main(carillon, folder):
    with open(folder + "/client.pem") as file:
        certificate = file.read()
    simulator = Simulator(carillon, folder)
    try:
        run(NAME, (send_one, refused_and_retried, feedback), simulator, certificate)
    finally:
        simulator.stop()


main(*sys.argv[1:])
