import CarillonHTTP2
import CarillonIO
import CarillonTLS

/// One connection to the channel service. It carries one request at a time, for the caller that took it from
/// `ChannelConnections`.
actor ChannelConnection {
    enum RequestEnding {
        case answered(Result<ChannelRequest.Answer, ChannelError>)
        /// The connection ended before the service could have processed it.
        case unsent(ChannelError)
        /// No answer came.
        case unknown(ChannelError)
    }

    /// Room for more than ten thousand channels with IDs of 200 bytes.
    private static let longestBody = 1 << 21

    private let gateway: Gateway
    private let authority: String
    private let timeout: Duration
    private let loop: EventLoop
    /// Keeps the loop running.
    private let owner: any AnyObject & Sendable
    private var stream: TLSStream?
    private let session: ClientSession
    private var input = [UInt8](repeating: 0, count: 16_384)
    private var lastTag: UInt32 = 0
    private(set) var idleSince = MonotonicInstant.now
    /// Whether an earlier request was answered on this connection, so that the service may have closed it since.
    private(set) var isUsed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private init(
        _ stream: consuming TLSStream,
        to gateway: Gateway,
        timeout: Duration,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) throws(HTTP2Error) {
        var settings = ClientSettings()
        settings.bodyLimit = Self.longestBody
        settings.keptFields = ["apns-channel-id"]
        session = try ClientSession(settings)
        self.stream = consume stream
        self.gateway = gateway
        authority = gateway.authority
        self.timeout = timeout
        self.loop = loop
        self.owner = owner
    }

    static func open(
        to gateway: Gateway,
        with credential: Credential,
        _ configuration: HTTP2Configuration,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) async throws(PushError) -> ChannelConnection {
        do {
            let stream = try await TLSStream.connect(
                host: gateway.host,
                port: gateway.port,
                context: gateway.tlsContext(with: credential, requiresHTTP2: true),
                connectTimeout: configuration.connectTimeout,
                handshakeTimeout: configuration.handshakeTimeout,
                on: loop
            )
            let timeout = configuration.requestTimeout
            let connection = try ChannelConnection(stream, to: gateway, timeout: timeout, on: loop, of: owner)
            try await connection.waitForSettings(until: .now + configuration.settingsTimeout)
            return connection
        } catch let error as HTTP2Error {
            throw PushError(.notHTTP2, "The channel service at \(gateway) does not speak HTTP/2: \(error).")
        } catch {
            throw PushError(connectingTo: gateway, error)
        }
    }

    private func waitForSettings(until deadline: MonotonicInstant) async throws {
        var isOpen = true
        while session.peerMaxStreams == 0 {
            guard isOpen else { throw HTTP2Error(.finished, "it closed the connection before its settings came") }
            isOpen = try await exchange(until: deadline)
            while session.nextEvent() != nil {}
        }
    }

    /// Whether it can carry another request. First reads what the service has sent in the meantime.
    func isUsable() -> Bool {
        guard var stream = self.stream.take() else { return false }
        do {
            while true {
                switch try stream.read(into: &input) {
                case .bytes(let count): try unsafe session.feed(input.span.bytes.extracting(0..<count))
                case .closed: return false
                case .wantsRead, .wantsWrite:
                    while session.nextEvent() != nil {}
                    guard session.freeStreams > 0 else { return false }
                    self.stream = consume stream
                    return true
                }
            }
        } catch {
            return false
        }
    }

    /// Sends the request, and waits for its answer.
    func ask(_ request: ChannelRequest, with token: ProviderToken?) async -> RequestEnding {
        let exchange = ChannelExchange(request)
        do throws(HTTP2Error) {
            let fields = try session.addFields(exchange.block(authority: authority, token: token))
            // Safe: the arrays stay alive and unchanged during the calls.
            let body = exchange.body.map { unsafe session.addBody($0.span.bytes) }
            let nothing: [UInt8] = []
            lastTag += 1
            defer {
                session.release(fields)
                if let body { session.release(body) }
            }
            try unsafe session.submit(
                fields,
                pathSuffix: nothing.span.bytes,
                varying: nothing.span.bytes,
                body: body,
                tag: lastTag
            )
        } catch {
            return .unsent(ChannelError(.unsent, "The request cannot be sent: \(error).", underlying: error))
        }
        let ending = await ending(of: exchange)
        idleSince = .now
        isUsed = true
        return ending
    }

    private func ending(of exchange: ChannelExchange) async -> RequestEnding {
        let deadline = MonotonicInstant.now + timeout
        var failure: (any Error)?
        while true {
            do {
                let isOpen = try await self.exchange(until: deadline)
                if let ending = readEvents(of: exchange, nil) { return ending }
                if isOpen, !session.isFinished { continue }
            } catch {
                failure = error
            }
            stream = nil
            // A failed write may still have sent a part, perhaps including the end of the request.
            session.end()
            return readEvents(of: exchange, failure) ?? .unknown(lost(failure))
        }
    }

    private func lost(_ failure: (any Error)?) -> ChannelError {
        ChannelError(
            .unknown,
            "The channel service at \(gateway) did not answer: \(failure.map { "\($0)" } ?? "it closed the connection"). "
                + "The request may have been carried out.",
            underlying: failure
        )
    }

    private func readEvents(of exchange: ChannelExchange, _ failure: (any Error)?) -> RequestEnding? {
        var ending: RequestEnding?
        while let event = session.nextEvent() {
            switch event {
            case .answered(_, let answer):
                guard !answer.isTruncated else {
                    ending = .answered(.failure(ChannelError(.malformed, "The answer of \(gateway) is too long.")))
                    break
                }
                let channel = session.withField(0, of: answer) { value in
                    String(decoding: value.byteOffsets.map { value[byte: $0] }, as: UTF8.self)
                }
                ending = .answered(
                    session.withBody(of: answer) { body in
                        Result { () throws(ChannelError) in
                            try exchange.answer(
                                status: answer.status,
                                channelID: channel,
                                retryAfter: answer.retryAfter,
                                body: body
                            )
                        }
                    }
                )
            case .ended(_, let end) where end.isSurelyUnprocessed:
                ending = .unsent(
                    ChannelError(
                        .unsent,
                        "The channel service at \(gateway) closed the connection.",
                        underlying: failure
                    )
                )
            case .ended: ending = .unknown(lost(failure))
            case .settingsChanged, .settingsAcknowledged, .written, .begun, .goAway: break
            }
        }
        return ending
    }

    /// Writes everything that is waiting, and reads once. Returns false if the service has closed the connection.
    private func exchange(until deadline: MonotonicInstant) async throws -> Bool {
        guard var stream = self.stream.take() else { return false }
        var output: [UInt8] = []
        try session.drain(into: &output)
        try await stream.send(output, until: deadline, on: loop)
        // Take it out, because the wait suspends.
        var input: [UInt8] = []
        swap(&input, &self.input)
        defer { swap(&input, &self.input) }
        let count = try await stream.receive(into: &input, until: deadline, on: loop)
        guard count > 0 else { return false }
        // Safe: the array stays alive and unchanged during the call.
        try unsafe session.feed(input.span.bytes.extracting(0..<count))
        self.stream = consume stream
        return true
    }

    /// Sends GOAWAY, unless the socket would have to wait.
    func close() {
        guard var stream = self.stream.take() else { return }
        var farewell: [UInt8] = []
        // If there is no memory for the frame, TLS alone ends the connection.
        try? session.goAway()
        _ = try? session.drain(into: &farewell)
        _ = unsafe try? stream.write(farewell.span.bytes)
        stream.closeNotify()
    }
}
