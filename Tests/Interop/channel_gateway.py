"""A channel service and a gateway for broadcasts on one port, written with Python's h2 and without a line of Carillon's. It
answers as Apple's sandbox was seen to: another reason for a channel that was removed than for one that never was, 404 for
removing what is not there, ids in base64 with / + =, and an expiry that must be sent."""

import base64
import json
import os
import re
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Service:
    def __init__(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.channels, self.removed, self.broadcasts, self.refusals, self.faults = {}, set(), [], [], []

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as line:
                self.converse(line)
        except (OSError, h2.exceptions.ProtocolError) as error:
            self.faults.append(repr(error))

    def converse(self, line):
        peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        peer.initiate_connection()
        line.sendall(peer.data_to_send())
        requests = {}
        while True:
            data = line.recv(65536)
            if not data:
                return
            for event in peer.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = (dict(event.headers), bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    peer.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if isinstance(event, h2.events.StreamEnded):
                    head, body = requests.pop(event.stream_id)
                    with self.lock:
                        status, fields, answer = self.answer(head, bytes(body))
                    text = json.dumps(answer).encode() if answer is not None else b""
                    identity = [("apns-request-id", head.get("apns-request-id", ""))]
                    peer.send_headers(event.stream_id, [(":status", str(status))] + identity + fields, end_stream=not text)
                    if text:
                        peer.send_data(event.stream_id, text, end_stream=True)
            line.sendall(peer.data_to_send())

    def refuse(self, status, reason):
        self.refusals.append(reason)
        return status, [], {"reason": reason}

    def answer(self, head, body):
        method, path, channel = head[":method"], head[":path"], head.get("apns-channel-id")
        if not UUID.fullmatch(head.get("apns-request-id", "")):
            self.faults.append("apns-request-id %r" % head.get("apns-request-id"))
        if not head.get("authorization", "").startswith("bearer "):
            return self.refuse(403, "MissingProviderToken")
        broadcast = re.fullmatch(r"/4/broadcasts/apps/([\w.-]+)", path)
        if broadcast and method == "POST":
            return self.broadcast(head, channel, body)
        if re.fullmatch(r"/1/apps/[\w.-]+/all-channels", path) and method == "GET":
            return 200, [], {"channels": list(self.channels)}
        if not re.fullmatch(r"/1/apps/[\w.-]+/channels", path):
            return self.refuse(404, "BadPath")
        if method == "POST":
            wanted = json.loads(body)
            if wanted.get("push-type") != "LiveActivity" or wanted.get("message-storage-policy") not in (0, 1):
                return self.refuse(400, "BadRequestPayload")
            # The first has each of the three characters that are no letters or digits.
            raw = os.urandom(16) if self.channels else b"\xfb\xff\xfe" + bytes(13)
            channel = base64.b64encode(raw).decode()
            self.channels[channel] = wanted["message-storage-policy"]
            return 201, [("apns-channel-id", channel)], None
        if channel is None:
            return self.refuse(400, "MissingChannelId")
        if method == "DELETE":
            if channel not in self.channels:
                return self.refuse(404, "BadPath")
            del self.channels[channel]
            self.removed.add(channel)
            return 204, [], None
        if channel in self.channels:
            policy = self.channels[channel]
            return 200, [], {"message-storage-policy": policy, "push-type": "LiveActivity"}
        return self.refuse(400, "ChannelNotRegistered" if channel in self.removed else "BadChannelId")

    def broadcast(self, head, channel, body):
        for name in ("apns-topic", "apns-id"):
            if name in head:
                self.faults.append("a broadcast has " + name)
        if head.get("apns-push-type") != "liveactivity" or head.get("apns-priority") not in ("1", "5", "10", None):
            return self.refuse(400, "InvalidPushType")
        if not (head.get("apns-expiration") or "").isdigit():
            return self.refuse(400, "BadExpirationDate")
        if channel not in self.channels:
            return self.refuse(400, "ChannelNotRegistered" if channel in self.removed else "BadChannelId")
        if self.channels[channel] == 0 and head["apns-expiration"] != "0":
            return self.refuse(400, "BadExpirationDate")
        self.broadcasts.append([channel, head["apns-expiration"], json.loads(body)])
        return 200, [], None


service = Service(sys.argv[1])
threading.Thread(target=service.serve, daemon=True).start()
print(service.port, flush=True)
sys.stdin.read()
facts = {name: getattr(service, name) for name in ("channels", "broadcasts", "refusals", "faults")}
print(json.dumps(facts), flush=True)
