import CarillonIO
import CarillonTLS

/// The legacy feedback service. It sends a client the dead device tokens of its certificate's topics, once, and closes.
actor LegacyFeedbackServer: SimulatorService {
    /// How long one write to a client may take.
    private static let writeTimeout = Duration.seconds(30)

    nonisolated let context: ServiceContext
    var listening: ListeningSide
    /// Records the connections that fail.
    private let gateway: PushServer
    /// The number of bytes after which the first list breaks off.
    private var cutAfter: Int?

    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    init(_ context: ServiceContext, gateway: PushServer) throws(SimulatorError) {
        self.context = context
        self.gateway = gateway
        cutAfter = context.configuration.feedbackCutAfter
        listening = try ListeningSide(requiringCertificates: context)
    }

    func failed(_ failure: ConnectionFailure) {
        gateway.assumeIsolated { $0.failed(failure.of("The feedback service")) }
    }

    func serve(_ stream: consuming TLSStream, as number: Int) async throws {
        guard let certificate = context.usable(stream.peerCertificate) else { return }
        let entries = context.deadTokens?.list.withLock { $0.take(for: certificate) } ?? []
        var stream = stream
        let sent = await send(entries, over: &stream)
        if sent < entries.count { context.deadTokens?.list.withLock { $0.putBack(entries[sent...]) } }
    }

    /// Returns how many entries were sent completely. A failed write leaves the rest for the next client.
    private func send(_ entries: [DeadTokenList.Entry], over stream: inout TLSStream) async -> Int {
        var room = cutAfter.take() ?? .max
        var sent = 0
        while sent < entries.count {
            var bytes: [UInt8] = []
            var next = sent
            var whole = sent
            while next < entries.count, bytes.count < 16_384 {
                bytes += entries[next].tuple
                next += 1
                if bytes.count <= room { whole = next }
            }
            do {
                try await stream.send(Array(bytes.prefix(room)), until: .now + Self.writeTimeout, on: context.loop)
            } catch {
                return sent
            }
            if bytes.count > room { return whole }
            room -= bytes.count
            sent = next
        }
        stream.closeNotify()
        return sent
    }
}
