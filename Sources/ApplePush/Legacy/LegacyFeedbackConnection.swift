import CarillonIO
import CarillonTLS

/// A connection to a gateway of the legacy feedback service, for one list. The gateway sends the list without a request, and then
/// closes.
actor LegacyFeedbackConnection: LegacyFeedbackSource {
    /// How many bytes of a list are read: some 1.7 million device tokens. A gateway could send for ever.
    static let maxBytes = 64 << 20

    private let gateway: Gateway
    private let loop: EventLoop
    /// Keeps the loop running.
    private let owner: any AnyObject & Sendable
    private var allowance: SilenceAllowance
    private let maxBytes: Int
    private var received = 0
    private var stream: TLSStream?
    private var tuples = LegacyFeedbackTuples()
    private(set) var failure: PushError?

    private init(
        _ stream: consuming TLSStream,
        to gateway: Gateway,
        _ allowance: SilenceAllowance,
        maxBytes: Int,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) {
        self.stream = consume stream
        self.gateway = gateway
        self.allowance = allowance
        self.maxBytes = maxBytes
        self.loop = loop
        self.owner = owner
    }

    /// Connects. The credential must be a certificate, because the service is older than signing keys.
    static func open(
        to gateway: Gateway,
        with credential: Credential,
        _ limits: ConnectionPool.Limits,
        longestSilence: Duration,
        longestTime: Duration = SilenceAllowance.total,
        maxBytes: Int = maxBytes,
        on loop: EventLoop,
        of owner: any AnyObject & Sendable
    ) async throws(PushError) -> LegacyFeedbackConnection {
        guard credential.identity != nil else {
            throw PushError(
                .unsupported,
                "The feedback service at \(gateway) accepts certificates only, and this credential is a signing key: "
                    + "its dead tokens are in the feedback of each result."
            )
        }
        var allowance = SilenceAllowance(each: longestSilence, total: longestTime)
        let start = MonotonicInstant.now
        do {
            var stream = try await TLSStream.connect(
                host: gateway.host,
                port: gateway.port,
                context: gateway.tlsContext(with: credential, requiresHTTP2: false),
                connectTimeout: limits.connectTimeout,
                handshakeTimeout: limits.handshakeTimeout,
                on: loop
            )
            if LegacyProtocols.isHTTP2(stream.alpn) {
                stream.closeNotify()
                throw LegacyProtocols.hasNoList(gateway)
            }
            allowance.waited(from: start, to: .now)
            return LegacyFeedbackConnection(
                stream,
                to: gateway,
                allowance,
                maxBytes: maxBytes,
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
            let entries = tuples.append(bytes[..<count])
            if !entries.isEmpty { return entries }
        }
        return nil
    }

    /// Returns nil at the end, once the connection is closed.
    private func receive(into bytes: inout [UInt8]) async -> Int? {
        guard var stream = self.stream.take() else { return nil }
        guard received < maxBytes, !allowance.isOver else {
            stream.closeNotify()
            cutOff(allowance.isOver ? "within its time" : "after \(received) bytes")
            return nil
        }
        let start = MonotonicInstant.now
        do {
            let count = try await stream.receive(into: &bytes, until: allowance.deadline(from: start), on: loop)
            allowance.waited(from: start, to: .now)
            if count > 0 {
                received += count
                self.stream = consume stream
                return count
            }
            stream.closeNotify()
            ended(by: nil)
        } catch {
            allowance.waited(from: start, to: .now)
            if allowance.isOver { cutOff("within its time") } else { ended(by: error) }
        }
        return nil
    }

    private func cutOff(_ limit: String) {
        failed(
            "The list of \(gateway) did not end \(limit). The device tokens up to there are kept, and the rest comes with the "
                + "next list."
        )
    }

    private func ended(by error: TLSError?) {
        if !tuples.isWhole {
            let reason = error.map { ": \($0)" } ?? ""
            failed("The list of \(gateway) broke off in the middle of a token\(reason).", error)
        } else if let error, error.code != .truncated {
            // If the gateway closes between two tuples, the list is complete, even without a close_notify of TLS.
            failed("The list of \(gateway) broke off: \(error).", error)
        } else if tuples.tooLong > 0 {
            failed("The list of \(gateway) has entries that are no device tokens.")
        }
    }

    private func failed(_ sentence: String, _ error: TLSError? = nil) {
        let sentences = [sentence, leftOut].compactMap { $0 }
        failure = PushError(.unreachable, sentences.joined(separator: " "), underlying: error)
    }

    /// What of the list no caller gets.
    private var leftOut: String? {
        guard tuples.tooLong > 0 else { return nil }
        return
            "\(tuples.tooLong) of its tokens have more than \(LegacyFeedbackTuples.longestToken) bytes, and were left out."
    }
}
