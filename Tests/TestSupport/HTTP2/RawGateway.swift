import IO
import Synchronization
import TLS

/// A server over real TLS sockets that is no HTTP/2 server: what it says on each connection, byte by byte, is up to the
/// test. For peers that break the rules, or keep them in ways that no library offers.
package actor RawGateway {
    package typealias Script = @Sendable (inout RawLine) async throws -> Void

    private let loop: EventLoop
    private let context: TLSContext
    private let script: Script
    private nonisolated let accepted = Atomic<Int>(0)
    private var listener: Listener?
    private var tasks: [Task<Void, Never>] = []
    /// The certificate, in PEM, of the authority that clients must trust.
    package nonisolated let rootPEM: String

    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    private init(on loop: EventLoop, alpn: [String], script: @escaping Script) throws {
        self.loop = loop
        self.script = script
        let authority = try CertificateAuthority(name: "Raw authority")
        let (certificate, key) = try authority.issue(
            commonName: "127.0.0.1",
            subjectAlternativeNames: ["127.0.0.1", "localhost"]
        )
        self.rootPEM = authority.pem
        self.context = try TLSContext.server(
            identity: Identity(certificate: certificate, privateKey: key),
            clients: .requested(),
            alpn: alpn
        )
    }

    /// A gateway around a test, on 127.0.0.1; the script is run for each connection, which ends with it.
    package static func with<R>(
        alpn: [String] = ["h2"],
        _ script: @escaping Script,
        test: (RawGateway, UInt16) async throws -> R
    ) async throws -> R {
        let loop = try EventLoop(name: "raw gateway")
        defer {
            loop.stop()
            loop.join()
        }
        let gateway = try RawGateway(on: loop, alpn: alpn, script: script)
        let port = try await gateway.listen()
        return try await attempt {
            try await test(gateway, port)
        } finally: {
            await gateway.stop()
        }
    }

    /// How many connections were accepted.
    package nonisolated var connections: Int { self.accepted.load(ordering: .relaxed) }

    private func listen() throws -> UInt16 {
        let listener = try Listener(host: "127.0.0.1", port: 0, on: self.loop) { socket in
            let descriptor = socket.release()
            self.assumeIsolated { $0.accept(descriptor) }
        }
        self.listener = listener
        return listener.port
    }

    private func stop() async {
        self.listener?.close()
        for task in self.tasks { task.cancel() }
        for task in self.tasks { await task.value }
    }

    private func accept(_ descriptor: CInt) {
        let number = self.accepted.wrappingAdd(1, ordering: .relaxed).newValue
        self.tasks.append(
            Task {
                do {
                    let stream = try await TLSStream.accept(
                        Socket(owning: descriptor),
                        context: self.context,
                        timeout: .seconds(60),
                        on: self.loop
                    )
                    var line = RawLine(number, stream, on: self.loop)
                    try await self.script(&line)
                } catch {
                    // Whatever it is, it is the end of this connection, and the test sees what became of its pushes.
                }
            }
        )
    }
}
