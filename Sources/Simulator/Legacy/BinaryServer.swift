import CarillonIO
import CarillonTLS

/// The gateway of the legacy binary protocol. Like Apple's, it does not confirm accepted notifications; when it refuses one, it
/// names it, discards all later ones, and closes the connection.
actor BinaryServer: SimulatorService {
    nonisolated let context: ServiceContext
    var listening: ListeningSide
    private let gateway: PushServer
    private let delay: Duration

    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    init(_ context: ServiceContext, gateway: PushServer) throws(SimulatorError) {
        self.context = context
        self.gateway = gateway
        delay = context.configuration.delay
        listening = try ListeningSide(requiringCertificates: context)
    }

    func failed(_ failure: ConnectionFailure) {
        gateway.assumeIsolated { $0.failed(failure.of("The binary gateway")) }
    }

    func serve(_ stream: consuming TLSStream, as number: Int) async {
        var stream = stream
        guard let certificate = context.usable(stream.peerCertificate) else { return }
        count(1)
        defer { count(-1) }
        var client = BinaryClient(number: number, certificate: certificate)
        var room = [UInt8](repeating: 0, count: 32_768)
        // If the client breaks off, there is nothing left to tell it.
        while let count = try? await stream.receive(into: &room, until: .distantFuture, on: context.loop), count > 0 {
            client.reader.append(room[..<count])
            let end: BinaryClient.End?
            (client, end) = judge(client)
            switch end {
            case nil: continue
            case .reset: return stream.resetWhenClosed()
            case .silence: return stream.closeNotify()
            case .error(let error): return await finish(&stream, error)
            }
        }
        guard client.reader.isWithinNotification else { return }
        let message = "the client closed the connection within a notification"
        failed(
            ConnectionFailure(time: WallClock.milliseconds, connection: number, isHandshake: false, message: message)
        )
    }

    private func count(_ change: Int) { gateway.assumeIsolated { $0.binaryConnections += change } }

    private func judge(_ client: BinaryClient) -> (BinaryClient, BinaryClient.End?) {
        gateway.assumeIsolated { $0.judge(client) }
    }

    /// Discards everything that arrives while the error waits, like everything after the refused notification.
    private func finish(_ stream: inout TLSStream, _ error: BinaryError?) async {
        var room = [UInt8](repeating: 0, count: 32_768)
        let due = MonotonicInstant.now + delay
        while delay > .zero, (try? await stream.receive(into: &room, until: due, on: context.loop)) ?? 0 > 0 {}
        if let error { try? await stream.send(error.bytes, until: .now + Stall.limit, on: context.loop) }
        stream.closeNotify()
        LingeringClose.begin(over: stream.descriptor, on: context.loop)
    }
}
