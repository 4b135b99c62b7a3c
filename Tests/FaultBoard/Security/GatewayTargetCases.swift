import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Gateways of apps that are other services.
@Suite(.scene) struct GatewayTargetCases {
    private static let columns = ["gateway", "feedback_gateway", "channel_gateway", "other_gateway"]

    @Test func `S9: the gateway of an app is a host and a port, and another service there is sent nothing`()
        async throws
    {
        let addresses = [
            "", "localhost", ":443", "localhost:", "localhost:x", "http://localhost:80", "file:///etc/passwd",
            "user@localhost:443", "localhost:443/path", "localhost:443?x", "localhost:443 ", "local host:443",
            "localhost:80\r\nX: y", "localhost:443\n", "[::1]", "[::1%lo]:443", "unix:/tmp/socket:1", "%6c:443",
            "localhost:0", "localhost:65536", "[::1]:99999",
        ]
        for column in Self.columns {
            for address in addresses {
                let error = await #expect(throws: PostgresError.self, "\(column): \(address)") {
                    try await scene.client.run("UPDATE carillon.apps SET \(column) = \(OddRow.quoted(address))")
                }
                #expect(error?.sqlState == "23514", "\(column): \(address): \(error?.message ?? "")")
            }
        }
        let heard = Guarded<[UInt8]>([])
        try await Reception.with(on: scene.loop) { [scene] _, descriptor in
            let socket = Socket(owning: descriptor)
            let banner = Array("SSH-2.0-internal-banner\r\n".utf8)
            _ = try socket.write(banner.span.bytes)
            var room = [UInt8](repeating: 0, count: 16_384)
            while true {
                _ = try await scene.loop.readiness(
                    of: descriptor,
                    for: .read,
                    until: .now + .seconds(60),
                    doing: "listening"
                )
                guard case .bytes(let count) = try socket.read(into: &room) else { return }
                heard.withLock { $0 += room[..<count] }
            }
        } test: { reception, port in
            try await scene.lead(to: "127.0.0.1:\(port)", trusting: scene.simulator.rootPEM)
            try await scene.enqueue(50)
            let worker = try await scene.fleet.started(["--log-level", "debug"], lease: Fleet.calm)
            try await scene.eventually("the app was held") { try await worker.metric("carillon_app_held") == 1 }
            try await scene.eventually("it is tried again") { reception.connections >= 2 }
            // Each connection got no further than the TLS handshake.
            let bytes = heard.withLock { $0 }
            #expect(bytes.starts(with: [22, 3]))
            let text = String(decoding: bytes, as: UTF8.self)
            for word in ["POST", "PRI ", Scene.topic, "Board"] { #expect(!text.contains(word), "\(word)") }
            // Neither the hold nor the log reveals what the service answered.
            let hold = try await scene.client.text("SELECT string_agg(h.reason, ' ') FROM carillon.holds h")
            #expect(!hold.contains("banner") && !worker.said.contains("banner"), "\(hold)")
            try await scene.lead(to: "localhost:\(scene.simulator.port)", trusting: scene.simulator.rootPEM)
            try await scene.finish()
        }
    }
}
