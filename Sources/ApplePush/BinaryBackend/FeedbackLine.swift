import IO
import TLS

/// A connection to a gateway of the legacy feedback service, for one list: the gateway speaks at once, and closes when it
/// has told everything. It is nobody else's, and never kept.
actor FeedbackLine: FeedbackSource {
    private let gateway: Gateway
    private let loop: EventLoop
    /// Whose loop that is.
    private let owner: any AnyObject & Sendable
    private var patience: ReadingPatience
    private var stream: TLSStream?
    private var tuples = FeedbackTuples()
    private(set) var failure: PushError?

    private init(
        _ stream: consuming TLSStream,
        to gateway: Gateway,
        longestSilence: Duration,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) {
        self.stream = consume stream
        self.gateway = gateway
        patience = ReadingPatience(each: longestSilence)
        self.loop = loop
        self.owner = owner
    }

    /// Connects. The credential must be a certificate: the service is older than signing keys.
    static func open(
        to gateway: Gateway,
        with credential: Credential,
        _ configuration: HTTP2Configuration,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) async throws(PushError) -> FeedbackLine {
        guard let identity = credential.identity else {
            throw PushError(
                .unsupported,
                "The feedback service at \(gateway) knows certificates only, and this credential is a signing key: "
                    + "dead tokens are in the feedback of each result."
            )
        }
        do {
            let stream = try await TLSStream.connect(
                host: gateway.host,
                port: gateway.port,
                context: .client(identity: identity, trust: gateway.trust.roots),
                connectTimeout: configuration.connectTimeout,
                handshakeTimeout: configuration.handshakeTimeout,
                on: loop
            )
            return FeedbackLine(
                stream,
                to: gateway,
                longestSilence: configuration.requestTimeout,
                on: loop,
                of: owner
            )
        } catch {
            throw PushError(connectingTo: gateway, error)
        }
    }

    func nextPiece() async -> [Feedback]? {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        while let count = await receive(into: &bytes) {
            let reports = tuples.append(bytes[..<count])
            if !reports.isEmpty { return reports }
        }
        return nil
    }

    /// Nil at the end, whatever it is. Then the connection is closed.
    private func receive(into bytes: inout [UInt8]) async -> Int? {
        guard var stream = self.stream.take() else { return nil }
        do {
            let start = MonotonicInstant.now
            let count = try await stream.receive(
                into: &bytes,
                until: patience.deadline(from: start),
                on: loop
            )
            patience.waited(from: start, to: .now)
            if count > 0 {
                self.stream = consume stream
                return count
            }
            stream.closeNotify()
            ended(by: nil)
        } catch {
            ended(by: error)
        }
        return nil
    }

    private func ended(by error: TLSError?) {
        if tuples.isWhole {
            // Where the gateway closes between two tuples, it has told what it had to tell, whether or not it told TLS.
            guard let error, error.code != .truncated else { return }
            failure = PushError(
                .unreachable,
                "The list of \(gateway) broke off: \(error).",
                underlying: error
            )
        } else {
            failure = PushError(
                .unreachable,
                "The list of \(gateway) broke off in the middle of a token\(error.map { ": \($0)" } ?? "").",
                underlying: error
            )
        }
    }
}
