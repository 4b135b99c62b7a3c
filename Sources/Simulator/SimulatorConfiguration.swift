/// How a simulator behaves.
public struct SimulatorConfiguration: Sendable {
    /// Apple's two environments.
    public enum Environment: String, Sendable, CaseIterable {
        /// api.push.apple.com.
        case production
        /// api.sandbox.push.apple.com: answers carry an `apns-unique-id` too.
        case sandbox
    }

    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    public var port: UInt16 = 0
    /// The names and addresses that clients may use: those of the server certificate.
    public var serverNames = ["localhost", "127.0.0.1", "::1"]
    /// The environment that the simulator stands in for.
    public var environment = Environment.production
    /// The only bundle identifiers that provider tokens may push to; empty allows every one.
    /// ``APNsSimulator/allow(topic:)`` adds one later.
    public var topics: [String] = []
    /// Topics to add by themselves, so long after the start. ``topics`` must name others.
    public var laterTopics: [String: Duration] = [:]
    /// The keys whose provider tokens are accepted. With none, keys are learnt from provider tokens: see ``ProviderKey``.
    public var providerKeys: [ProviderKey] = []
    /// Refuses incorrect requests that Apple accepts: provider tokens with a DER signature or an `iat` in quotes, and
    /// connections that do not negotiate `h2`.
    public var isPedantic = false
    /// Whether a device token belongs to the app of its first accepted push, and is refused to others
    /// (`DeviceTokenNotForTopic`). Up to a million device tokens are remembered, the most recently used ones.
    public var bindsTokens = true
    /// A folder that keeps the simulator's authority, so that its root stays the same; nil: each simulator has a new one.
    public var stateFolder: String?
    /// Answers by device token prefix, of which the longest wins, and to requests about channels.
    public var answers: [AnswerRule] = []
    /// How long each answer is held back.
    public var delay = Duration.zero
    /// After how many requests a connection gets GOAWAY.
    public var goAwayAfter: Int?
    /// After how many requests a connection is reset (RST). The last of them is not answered.
    public var resetAfter: Int?
    /// Concurrent streams, announced in the first SETTINGS. Nil: as at Apple, 1000, but without a client certificate 1 until
    /// the first good provider token.
    public var maximumStreams: UInt32?
    /// The HTTP/2 flow-control window of each connection and each stream: how many bytes of bodies clients may send ahead.
    /// 65,535 is the default of HTTP/2.
    public var window = 65_535
    /// How far away the simulator seems to be: the round-trip time, half of it in either direction. A link holds
    /// ``window`` and four megabytes, which is more than clients within the window send ahead.
    public var distance = Duration.zero
    /// The port of the channel service, which creates, reads, removes and lists channels; 0 lets the system choose; nil: there
    /// is none. Broadcasts to channels go to ``port``, as pushes do.
    public var channelPort: UInt16?
    /// The port of the legacy binary gateway; 0 lets the system choose; nil: there is none. Its errors are held back for
    /// ``delay``, as answers are, and what comes meanwhile is discarded.
    public var binaryPort: UInt16?
    /// The port of the legacy feedback service; 0 lets the system choose; nil: there is none.
    public var feedbackPort: UInt16?
    /// What the feedback service lists from the start.
    public var deadTokens: [DeadToken] = []
    /// After how many bytes of the list the feedback service's first connection ends; later ones end after the list.
    public var feedbackCutAfter: Int?
    /// A file to which a JSON line is appended for each request and each failed connection; `-` is standard output.
    public var logFile: String?
    /// Keeps every request in memory, for ``APNsSimulator/deliveries()``.
    public var recordsDeliveries = false
    /// Called for each request when it was received and when it was answered. It runs on the simulator's thread, which does
    /// nothing else meanwhile. A test can break something at that very moment.
    public var observer: (@Sendable (SimulatorEvent) -> Void)?
    /// Called for each connection that failed: in its handshake, because its client broke the rules of HTTP/2, or because a
    /// frame was incomplete for too long. It runs on the simulator's thread, too.
    public var failureObserver: (@Sendable (ConnectionFailure) -> Void)?
    /// Only requests to device tokens with this prefix are logged, kept and observed. The others are counted, which is cheap.
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
