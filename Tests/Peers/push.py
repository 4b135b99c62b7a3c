"""What the workers in Python do with a job: aioapns sends its payload to each of its tokens, all at once. It opens connections as
it needs them, up to ten, each with as many requests as the gateway allows. uvloop saves a tenth of the processor time."""

import asyncio
import functools
import os
import ssl

import uvloop
from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsTLSClientProtocol

uvloop.install()


@functools.cache
def client():
    with open(os.environ["PEERS_KEY"]) as file:
        key = file.read()
    trust = ssl.create_default_context(cafile=os.environ["PEERS_CERTIFICATE"])
    apns = APNs(key=key, key_id="PEERS12345", team_id="TEAM567890", topic=os.environ["PEERS_TOPIC"], ssl_context=trust)
    # The addresses of Apple's servers are attributes without a parameter.
    here = {"APNS_SERVER": "localhost", "APNS_PORT": int(os.environ["PEERS_PORT"])}
    apns.pool.protocol_class = type("Local", (APNsTLSClientProtocol,), here)
    return apns


async def push(tokens, payload):
    results = await asyncio.gather(*(
        client().send_notification(
            NotificationRequest(device_token=token, message=payload, priority=10, push_type=PushType.ALERT)
        )
        for token in tokens
    ))
    if not all(result.is_successful for result in results):
        raise RuntimeError("a push was refused")
