"""A gateway of the legacy binary protocol, written without a line of Carillon's, for a worker that sends to it. It keeps
Apple's rules: silent about what it accepts; at the first bad notification it discards what follows, names that one, and closes.
"""

import json
import socket
import ssl
import struct
import sys
import threading
import time


class Gateway:
    def __init__(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.accepted = []
        self.refused = []
        self.faults = []

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as line:
                self.read(line.makefile("rb"), line)
        except (OSError, struct.error):
            pass

    def read(self, stream, line):
        while True:
            command = stream.read(1)
            if not command:
                return
            if command != b"\x02":
                self.faults.append("command %r" % command)
                return
            (length,) = struct.unpack(">I", stream.read(4))
            frame, items = stream.read(length), {}
            while frame:
                number, size = struct.unpack(">BH", frame[:3])
                items[number], frame = frame[3 : 3 + size], frame[3 + size :]
            (identifier,) = struct.unpack(">I", items[3])
            status = self.judge(items, identifier)
            if status:
                # Apple's answer came late, too: what the worker writes in the meantime, it must send again.
                time.sleep(0.3)
                line.sendall(struct.pack(">BBI", 8, status, identifier))
                return

    def judge(self, items, identifier):
        token = items.get(1, b"")
        if identifier == 0 or items.get(5) not in (b"\x0a", b"\x05", None):
            self.faults.append("identifier %d, priority %r" % (identifier, items.get(5)))
        if not token:
            return 2
        json.loads(items[2])
        if token[0] == 0xBB:
            self.refused.append(token.hex())
            return 8
        self.accepted.append(token.hex())
        return 0


gateway = Gateway(sys.argv[1])
threading.Thread(target=gateway.serve, daemon=True).start()
print(gateway.port, flush=True)
sys.stdin.read()
print(json.dumps({"accepted": gateway.accepted, "refused": gateway.refused, "faults": gateway.faults}), flush=True)
