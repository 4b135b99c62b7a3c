import CarillonIO
import CarillonTLS

/// The channel service. It has its own port, as with Apple; the gateway serves its connections beside its own.
actor ChannelServer: SimulatorService {
    nonisolated let context: ServiceContext
    var listening: ListeningSide
    private let gateway: PushServer

    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    init(_ context: ServiceContext, gateway: PushServer) throws(SimulatorError) {
        self.context = context
        self.gateway = gateway
        listening = ListeningSide(try PushServer.tls(context))
    }

    func failed(_ failure: ConnectionFailure) {
        gateway.assumeIsolated { $0.failed(failure.of("The channel service")) }
    }

    func serve(_ stream: consuming TLSStream, as number: Int) async throws {
        try await gateway.serveChannels(stream)
    }
}
