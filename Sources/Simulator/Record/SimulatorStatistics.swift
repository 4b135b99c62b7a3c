import FoundationEssentials

/// The counts of a simulator since it started.
public struct SimulatorStatistics: Sendable, Hashable, Codable {
    /// Requests received.
    public var requests = 0
    /// Requests answered with 200.
    public var delivered = 0
    /// Requests answered with another status.
    public var refused = 0
    /// Requests without an answer, because of a rule or a reset, or because they are still waiting for it.
    public var unanswered = 0
    /// Broadcasts answered with 200. They are also included in `delivered`.
    public var broadcasts = 0
    /// Requests that the channel service has carried out.
    public var channelRequests = 0
    /// Channels that exist now.
    public var channels = 0
    /// Answers by status.
    public var byStatus: [String: Int] = [:]
    /// Answers other than 200 by reason.
    public var byReason: [String: Int] = [:]
    /// Bytes of payload received.
    public var payloadBytes = 0
    /// Connections that finished their handshake.
    public var connections = 0
    /// Connections that are open now.
    public var openConnections = 0
    /// Handshakes that failed.
    public var failedHandshakes = 0
    /// Different provider tokens accepted.
    public var providerTokens = 0
    /// GOAWAY frames sent because of ``SimulatorConfiguration/goAwayAfter``.
    public var goAways = 0
    /// Connections reset because of ``SimulatorConfiguration/resetAfter``.
    public var resets = 0
    /// Dead tokens that the feedback service has sent.
    public var deadTokensTold = 0
    /// Dead tokens that it has not sent yet.
    public var deadTokensWaiting = 0
    /// Requests whose streams were reset before they were complete, because they violated HTTP/2 or too many streams were open.
    public var streamsRefused = 0
    /// How often a rule with a limit did not apply because such rules count at most a million device tokens.
    public var uncounted = 0
    /// How often the log could not be written.
    public var logErrors = 0

    enum CodingKeys: String, CodingKey {
        case requests, delivered, refused, unanswered, connections, resets, uncounted
        case broadcasts, channels
        case channelRequests = "channel_requests"
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

    /// The counts as one JSON object with sorted keys: the answer to `GET /stats`.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        // Numbers and strings can always be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
