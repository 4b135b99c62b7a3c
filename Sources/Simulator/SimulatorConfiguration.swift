import Glibc

/// How a simulator behaves.
public struct SimulatorConfiguration: Sendable {
    /// Apple's two environments.
    public enum Environment: String, Sendable, CaseIterable {
        /// api.push.apple.com.
        case production
        /// api.sandbox.push.apple.com: every answer also carries an `apns-unique-id`, not only those to accepted broadcasts.
        case sandbox
    }

    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    public var port: UInt16 = 0
    /// The names and addresses in the server certificate, which clients may use.
    public var serverNames = ["localhost", "127.0.0.1", "::1"]
    /// The environment that the simulator stands in for.
    public var environment = Environment.production
    /// The only bundle IDs that provider tokens may push to; empty to allow all. ``APNsSimulator/allow(topic:)`` adds one
    /// later.
    public var topics: [String] = []
    /// Topics to add automatically, each this long after the start. ``topics`` must not be empty.
    public var laterTopics: [String: Duration] = [:]
    /// The keys whose provider tokens are accepted. If empty, keys are learnt from provider tokens: see ``ProviderKey``.
    public var providerKeys: [ProviderKey] = []
    /// Whether to refuse incorrect requests that Apple accepts: provider tokens with a DER signature or an `iat` in quotes, and
    /// connections that do not negotiate `h2`.
    public var isPedantic = false
    /// Whether to accept push types that this version does not know, to any topic. Apple refuses those that it does not have.
    public var allowsUnknownTypes = false
    /// Whether a device token belongs to the app of its first accepted push and is refused to other apps
    /// (`DeviceTokenNotForTopic`). The million most recently used device tokens are remembered.
    public var bindsTokens = true
    /// A folder that keeps the simulator's authority, so that its root stays the same; nil to create a new authority each time.
    public var stateFolder: String?
    /// Answers by device token prefix, where the longest prefix wins, and answers to requests about channels.
    public var answers: [AnswerRule] = []
    /// How long each answer is delayed.
    public var delay = Duration.zero
    /// The number of requests after which a connection gets GOAWAY.
    public var goAwayAfter: Int?
    /// The number of requests after which a connection is reset (RST). The last request is not answered.
    public var resetAfter: Int?
    /// The number of concurrent streams, announced in the first SETTINGS. If nil, as with Apple: 1000, but without a client
    /// certificate 1 until the first good provider token.
    public var maximumStreams: UInt32?
    /// The HTTP/2 flow-control window of each connection and each stream: how many bytes of bodies clients may send ahead.
    /// 65,535 is the default of HTTP/2.
    public var window = 65_535
    /// The simulated distance as a round-trip time, half of it in each direction. A link buffers ``window`` plus four megabytes,
    /// more than clients that respect the window send ahead.
    public var distance = Duration.zero
    /// The port of the channel service, which creates, reads, removes and lists channels; 0 lets the system choose; nil for no
    /// channel service. Broadcasts to channels go to ``port``, like pushes.
    public var channelPort: UInt16?
    /// The port of the legacy binary gateway; 0 lets the system choose; nil for no binary gateway. Its errors are delayed by
    /// ``delay``, like answers; notifications that arrive in the meantime are discarded.
    public var binaryPort: UInt16?
    /// The port of the legacy feedback service; 0 lets the system choose; nil for no feedback service.
    public var feedbackPort: UInt16?
    /// The device tokens that the feedback service lists from the start.
    public var deadTokens: [DeadToken] = []
    /// The number of bytes after which the feedback service's first connection ends; later connections send the whole list.
    public var feedbackCutAfter: Int?
    /// A file to which a JSON line is appended for each request and each failed connection; `-` is standard output.
    public var logFile: String?
    /// Whether to keep every request in memory, for ``APNsSimulator/receivedRequests()``.
    public var recordsRequests = false
    /// Called for each request when it has been received and when it has been answered. It runs on the simulator's thread, which
    /// does nothing else in the meantime, so a test can break something at exactly that moment.
    public var observer: (@Sendable (SimulatorEvent) -> Void)?
    /// Called for each connection that failed: in its handshake, because its client violated HTTP/2, or because a frame was
    /// incomplete for too long. It also runs on the simulator's thread.
    public var failureObserver: (@Sendable (ConnectionFailure) -> Void)?
    /// Only requests to device tokens with this prefix are logged, kept and observed. Other requests are only counted, which is
    /// cheap.
    public var recordedPrefix = ""

    /// Apple's behaviour, on a port of 127.0.0.1 that the system chooses.
    public init() {}

    func check() throws(SimulatorError) {
        func require(_ isRight: Bool, _ message: @autoclosure () -> String) throws(SimulatorError) {
            if !isRight { throw SimulatorError(.badConfiguration, message()) }
        }
        for (name, value) in [
            ("goaway-after", goAwayAfter), ("reset-after", resetAfter), ("feedback-cut-after", feedbackCutAfter),
        ] {
            try require(value ?? 1 >= 1, "\(name) counts from 1, so it cannot be \(value ?? 0).")
        }
        try require(distance >= .zero, "The distance cannot be negative.")
        try require(1...Int(Int32.max) ~= window, "A window has 1 to \(Int32.max) bytes, not \(window).")
        try require(delay >= .zero, "The delay of answers cannot be negative.")
        try require(
            laterTopics.isEmpty || !topics.isEmpty,
            "A topic that is allowed later needs one that is allowed from the start: with none, every topic is."
        )
        for topic in topics + laterTopics.keys {
            if !HeaderForm.isTopic(Array(topic.utf8).span) { throw .badTopic(topic) }
        }
        try require(!serverNames.isEmpty, "The server certificate needs a name, such as localhost.")
        for name in serverNames {
            try require(
                ServerName.isValid(name),
                "The server certificate cannot have the name \"\(name)\": give a host name in ASCII, such as apns.test, "
                    + "or a numeric address."
            )
        }
    }
}

/// The names and addresses that a server certificate can have.
private enum ServerName {
    private static let limit = 253

    /// Whether it is a host name, perhaps with `*` as its first label, or a numeric address.
    static func isValid(_ name: String) -> Bool {
        var address = in6_addr()
        if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 { return true }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let isLong = name.utf8.count > limit
        return !isLong && labels.enumerated().allSatisfy { isLabel($1) || $0 == 0 && $1 == "*" && labels.count > 1 }
    }

    /// A label consists of the bytes that a topic may have.
    private static func isLabel(_ text: Substring) -> Bool {
        let isEdge = text.hasPrefix("-") || text.hasSuffix("-")
        return text.utf8.count <= 63 && !isEdge && HeaderForm.isTopic(Array(text.utf8).span)
    }
}
