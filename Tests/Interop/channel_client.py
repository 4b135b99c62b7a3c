"""Channels and broadcasts of the simulator, with a client that is written with Python's h2 and without a line of Carillon's.
Prints a line for each case, like the others."""

import json
import socket
import ssl
import sys

import h2.config
import h2.connection
import h2.events

from simulator import Simulator, run

APP = "com.example.acme"
CHANNELS, ALL = "/1/apps/%s/channels" % APP, "/1/apps/%s/all-channels" % APP
UPDATE = {"aps": {"timestamp": 1, "event": "update", "content-state": {"score": 1}}}


class Client:
    def __init__(self, port, ca, certificate):
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(certificate)
        context.set_alpn_protocols(["h2"])
        self.line = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
        self.peer = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.peer.initiate_connection()

    def ask(self, method, path, body=None, **fields):
        stream = self.peer.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        head += [("apns-" + name.replace("_", "-"), value) for name, value in fields.items()]
        self.peer.send_headers(stream, head, end_stream=body is None)
        if body is not None:
            self.peer.send_data(stream, json.dumps(body).encode(), end_stream=True)
        answer, text = {}, b""
        while True:
            self.line.sendall(self.peer.data_to_send())
            for event in self.peer.receive_data(self.line.recv(65536)):
                if isinstance(event, h2.events.ResponseReceived):
                    answer = dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    text += event.data
                    self.peer.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.line.sendall(self.peer.data_to_send())
                    return int(answer[":status"]), answer, json.loads(text) if text else None


def main(carillon, folder):
    simulator = Simulator(carillon, folder, "--channel-port", "0")
    channels = Client(simulator.channels, simulator.ca, folder + "/client.pem")
    gateway = Client(simulator.port, simulator.ca, folder + "/client.pem")

    def broadcast(channel, **changes):
        fields = {"channel_id": channel, "push_type": "liveactivity", "expiration": "0", "priority": "10"}
        fields = {name: value for name, value in {**fields, **changes}.items() if value is not None}
        return gateway.ask("POST", "/4/broadcasts/apps/" + APP, UPDATE, **fields)

    def a_channel_lives_and_is_removed(simulator):
        wanted = {"message-storage-policy": 0, "push-type": "LiveActivity"}
        status, head, body = channels.ask("POST", CHANNELS, wanted)
        channel = head["apns-channel-id"]
        assert (status, body, len(channel)) == (201, None, 24), (status, body, channel)
        assert channels.ask("GET", CHANNELS, channel_id=channel)[::2] == (200, wanted)
        assert channels.ask("GET", ALL)[::2] == (200, {"channels": [channel]})
        assert broadcast(channel)[0] == 200
        assert broadcast(channel, expiration=None)[::2] == (400, {"reason": "BadExpirationDate"})
        assert broadcast(channel, expiration="1900000000")[::2] == (400, {"reason": "BadExpirationDate"})
        assert channels.ask("DELETE", CHANNELS, channel_id=channel)[0] == 204
        assert channels.ask("DELETE", CHANNELS, channel_id=channel)[::2] == (404, {"reason": "BadPath"})
        assert broadcast(channel)[::2] == (400, {"reason": "ChannelNotRegistered"})
        assert broadcast("AAAAAAAAAAAAAAAAAAAAAA==")[::2] == (400, {"reason": "BadChannelId"})

    def the_log_has_a_line_for_each_request(simulator):
        lines = [(line["request"], line["status"], line["app"]) for line in simulator.requests()]
        wanted = ["create", "read", "list", "broadcast", "broadcast", "broadcast", "remove", "remove", "broadcast", "broadcast"]
        assert [request for request, _, _ in lines] == wanted, lines
        assert {app for _, _, app in lines} == {APP}

    def ten_thousand_channels_are_the_limit_and_all_are_listed(simulator):
        wanted = {"message-storage-policy": 1, "push-type": "LiveActivity"}
        made = [channels.ask("POST", CHANNELS, wanted)[1]["apns-channel-id"] for _ in range(10000)]
        assert channels.ask("POST", CHANNELS, wanted)[::2] == (400, {"reason": "CannotCreateChannelConfig"})
        assert channels.ask("GET", ALL)[2] == {"channels": made}

    try:
        run(
            "channels with h2 (PyPI)",
            (
                a_channel_lives_and_is_removed, the_log_has_a_line_for_each_request,
                ten_thousand_channels_are_the_limit_and_all_are_listed,
            ),
            simulator,
        )
    finally:
        simulator.stop()


main(*sys.argv[1:])
