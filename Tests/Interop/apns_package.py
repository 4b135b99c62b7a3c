"""PyAPNs, the package apns 2.0.1 from PyPI, with the simulator's gateway.

It is written for Python 2. Its syntax is translated while it is imported; its code is not changed. What mixes texts and bytes
does not run on Python 3: frames of command 2, and the feedback service. Prints a line for each case."""

import importlib.util
import ssl
import sys
import time
import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning)

from lib2to3 import refactor  # noqa: E402

from simulator import Simulator, run, token  # noqa: E402

NAME = "PyAPNs (PyPI)"

if not hasattr(ssl, "wrap_socket"):  # since Python 3.12

    def wrap_socket(socket, key, certificate, do_handshake_on_connect=True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(certificate, key)
        return context.wrap_socket(socket, do_handshake_on_connect=do_handshake_on_connect)

    ssl.wrap_socket = wrap_socket


def load():
    source = importlib.util.find_spec("apns").origin
    with open(source) as file:
        text = file.read()
    fixes = refactor.get_fixers_from_package("lib2to3.fixes")
    tree = refactor.RefactoringTool(fixes).refactor_string(text + "\n", source)
    module = type(sys)("apns")
    exec(compile(str(tree), source, "exec"), module.__dict__)
    return module


apns = load()


def gateway(port, certificate, enhanced):
    server = apns.APNs(cert_file=certificate, key_file=certificate, enhanced=enhanced).gateway_server
    # The addresses of Apple's servers are attributes without a parameter.
    server.server, server.port = "localhost", port
    return server


def wait(what, condition):
    end = time.time() + 20
    while not condition():
        assert time.time() < end, what()
        time.sleep(0.05)


def simple_notifications(simulator, certificate):
    server = gateway(simulator.binary, certificate, enhanced=False)
    before = len(simulator.requests())
    for number in range(5):
        server.send_notification(token("aa", number), apns.Payload(alert="Hello", badge=number))
    lines = lambda: simulator.requests()[before:]  # noqa: E731
    wait(lines, lambda: len(lines()) == 5)
    assert [line["token"] for line in lines()] == [token("aa", number) for number in range(5)]
    assert lines()[3]["payload"] == '{"aps":{"alert":"Hello","badge":3}}', lines()[3]
    server._disconnect()


def resends_what_follows_a_refused_one(simulator, certificate):
    said = []
    server = gateway(simulator.binary, certificate, enhanced=True)
    server.register_response_listener(said.append)
    tokens = [token("aa", 100 + number) for number in range(20)]
    tokens[7] = token("bb", 7)
    before = len(simulator.requests())
    for number, name in enumerate(tokens):
        server.send_notification(name, apns.Payload(alert="Hi"), identifier=1000 + number, expiry=2000000000)
    taken = lambda: [line["token"] for line in simulator.requests()[before:] if line["status"] == 200]  # noqa: E731
    wait(taken, lambda: len(taken()) >= 19)
    assert taken() == tokens[:7] + tokens[8:], taken()
    assert said == [{"status": 8, "identifier": 1007}], said
    server.force_close()


def main(carillon, folder):
    certificate = folder + "/client.pem"
    simulator = Simulator(carillon, folder)
    try:
        run(NAME, (simple_notifications, resends_what_follows_a_refused_one), simulator, certificate)
    finally:
        simulator.stop()


main(*sys.argv[1:])
