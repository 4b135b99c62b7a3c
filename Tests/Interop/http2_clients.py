"""Clients of HTTP/2 that others wrote, with the simulator: aapns 23.7 with a certificate, aioapns 4.0 with a certificate and with
a signing key. What they report must be what the simulator has logged. Prints a line for each case."""

import asyncio
import json
import ssl
import subprocess
import sys

from simulator import Simulator, run, token

TOPIC = "com.example.acme"
GOOD = [token("aa", number) for number in range(200)]
DEAD, BAD, BUSY = token("dd", 1), token("bb", 1), token("cc", 1)
ANSWERS = {DEAD: (410, "Unregistered"), BAD: (400, "BadDeviceToken"), BUSY: (429, "TooManyRequests")}


def check(simulator, before, reports, payload):
    """reports: status and reason by token, as the client has understood them."""
    lines = simulator.requests()[before:]
    assert sorted(line["token"] for line in lines) == sorted(GOOD + list(ANSWERS)), len(lines)
    for line in lines:
        status, reason = ANSWERS.get(line["token"], (200, None))
        assert (line["status"], line.get("reason")) == (status, reason), line
        assert reports[line["token"]] == (status, reason), (line, reports[line["token"]])
        assert json.loads(line["payload"]) == payload, line
        assert line["topic"] == TOPIC, line


def aapns(folder):
    from aapns import errors
    from aapns.api import Server
    from aapns.models import Alert, Notification, PushType

    def sends_and_reports_with_a_certificate(simulator):
        async def send():
            server = Server(folder + "/client.pem", "localhost", simulator.port, simulator.ca)
            client = await server.create_client()
            reports = {}

            async def one(name):
                alert = Alert(title="Dinner", body="The soup is ready")
                notification = Notification(alert=alert, push_type=PushType.alert, badge=3)
                try:
                    await client.send_notification(name, notification, topic=TOPIC)
                    reports[name] = (200, None)
                except errors.ResponseError as error:
                    reason = type(error).__name__
                    reports[name] = (next(s for s, r in ANSWERS.values() if r == reason), reason)

            await asyncio.gather(*(one(name) for name in GOOD + list(ANSWERS)))
            await client.close()
            return reports

        before = len(simulator.requests())
        payload = {"aps": {"alert": {"title": "Dinner", "body": "The soup is ready"}, "badge": 3}}
        check(simulator, before, asyncio.run(send()), payload)

    return "aapns (PyPI)", (sends_and_reports_with_a_certificate,)


def aioapns(folder):
    from aioapns import APNs, NotificationRequest, PushType
    from aioapns.connection import APNsTLSClientProtocol

    payload = {"aps": {"alert": "The soup is ready", "badge": 3}}

    def send(simulator, **credential):
        async def all_of_them():
            trust = ssl.create_default_context(cafile=simulator.ca)
            client = APNs(topic=TOPIC, ssl_context=trust, max_connections=2, err_func=ignore, **credential)
            # The addresses of Apple's servers are attributes without a parameter.
            client.pool.protocol_class = type(
                "Local", (APNsTLSClientProtocol,), {"APNS_SERVER": "localhost", "APNS_PORT": simulator.port}
            )
            reports = {}

            async def one(name):
                result = await client.send_notification(
                    NotificationRequest(device_token=name, message=payload, time_to_live=60, push_type=PushType.ALERT)
                )
                reports[name] = (int(result.status), result.description)
                if name == DEAD:
                    assert result.timestamp > 1600000000000, result.timestamp

            # With a key, the simulator allows one stream until the first token is good, as Apple does.
            await one(GOOD[0])
            await asyncio.gather(*(one(name) for name in GOOD[1:] + list(ANSWERS)))
            client.pool.close()
            return reports

        async def ignore(request, response):
            pass

        before = len(simulator.requests())
        check(simulator, before, asyncio.run(all_of_them()), payload)

    def sends_and_reports_with_a_certificate(simulator):
        send(simulator, client_cert=folder + "/client.pem")

    def sends_and_reports_with_a_signing_key(simulator):
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            check=True, capture_output=True, text=True,
        ).stdout
        send(simulator, key=key, key_id="ABCDE12345", team_id="TEAM567890")

    return "aioapns (PyPI)", (sends_and_reports_with_a_certificate, sends_and_reports_with_a_signing_key)


def main(library, carillon, folder):
    simulator = Simulator(carillon, folder, "--answer", "cc=429:TooManyRequests")
    try:
        run(*{"aapns": aapns, "aioapns": aioapns}[library](folder), simulator)
    finally:
        simulator.stop()


main(*sys.argv[1:])
