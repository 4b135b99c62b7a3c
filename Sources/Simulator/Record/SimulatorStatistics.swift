import FoundationEssentials

/// What a simulator has seen and answered since it started.
public struct SimulatorStatistics: Sendable, Hashable, Codable {
    /// Requests taken.
    public var requests = 0
    /// Requests answered with 200.
    public var delivered = 0
    /// Requests answered with another status.
    public var refused = 0
    /// Requests without an answer: a rule or a reset left them so, or they still wait for it.
    public var unanswered = 0
    /// Answers by status.
    public var byStatus: [String: Int] = [:]
    /// Answers other than 200 by reason.
    public var byReason: [String: Int] = [:]
    /// Bytes of payload taken.
    public var payloadBytes = 0
    /// Connections that finished their handshake.
    public var connections = 0
    /// Those still open.
    public var openConnections = 0
    /// Handshakes that failed.
    public var failedHandshakes = 0
    /// Different provider tokens accepted.
    public var providerTokens = 0
    /// GOAWAY frames sent because of ``SimulatorConfiguration/goAwayAfter``.
    public var goAways = 0
    /// Connections reset because of ``SimulatorConfiguration/resetAfter``.
    public var resets = 0
    /// Dead tokens that the feedback service has told of.
    public var deadTokensTold = 0
    /// Dead tokens that nobody has asked it for yet.
    public var deadTokensWaiting = 0
    /// Requests whose stream was reset before they were taken: they broke the rules of HTTP/2, or there were too many at
    /// once.
    public var streamsRefused = 0
    /// Times that a rule of limited times was left out, because such rules count a million device tokens and no more.
    public var uncounted = 0
    /// Times that the log could not be written.
    public var logErrors = 0

    enum CodingKeys: String, CodingKey {
        case requests, delivered, refused, unanswered, connections, resets, uncounted
        case byStatus = "by_status"
        case byReason = "by_reason"
        case payloadBytes = "payload_bytes"
        case openConnections = "open_connections"
        case failedHandshakes = "failed_handshakes"
        case providerTokens = "provider_tokens"
        case goAways = "goaways"
        case deadTokensTold = "dead_tokens_told"
        case deadTokensWaiting = "dead_tokens_waiting"
        case streamsRefused = "streams_refused"
        case logErrors = "log_errors"
    }

    /// The same as one JSON object with its keys in order: what `GET /stats` answers.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        // Numbers and words: there is nothing in it that cannot be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
