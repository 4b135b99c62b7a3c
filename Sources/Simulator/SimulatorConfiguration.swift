/// How a simulator behaves.
public struct SimulatorConfiguration: Sendable {
    /// Which of Apple's two environments is played.
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
    /// The names and addresses in the server's certificate: what clients may reach it by.
    public var serverNames = ["localhost", "127.0.0.1", "::1"]
    /// Which of Apple's environments is played.
    public var environment = Environment.production
    /// The only bundle identifiers that provider tokens may push to; empty allows every one.
    public var topics: [String] = []
    /// The keys whose provider tokens are believed. With none, each key is learnt from the first tokens it signs:
    /// see ``ProviderKey``.
    public var providerKeys: [ProviderKey] = []
    /// Refuses what Apple takes though it should not be: provider tokens with a DER signature or an `iat` in quotes, and
    /// connections that do not agree on `h2`.
    public var isPedantic = false
    /// Whether a device token belongs to the app that it was first taken for, and is refused to others
    /// (`DeviceTokenNotForTopic`). The tokens seen last are remembered, up to a million.
    public var bindsTokens = true
    /// A folder that keeps the simulator's authority, so that its root stays the same from start to start; nil: each has a
    /// new one.
    public var stateFolder: String?
    /// Answers by token prefix, the longest first.
    public var answers: [AnswerRule] = []
    /// How long each answer is held back.
    public var delay = Duration.zero
    /// GOAWAY after so many requests of a connection.
    public var goAwayAfter: Int?
    /// The connection is reset (RST) after so many requests, the last of them unanswered.
    public var resetAfter: Int?
    /// Concurrent streams, announced from the first SETTINGS on. With nil it is as at Apple's: 1000, but 1 until the
    /// first valid provider token where there is no client certificate.
    public var maximumStreams: UInt32?
    /// How many bytes of bodies may be on their way to the simulator, on each connection and on each stream of it, as the
    /// windows of HTTP/2 have it. 65,535 is what HTTP/2 begins with.
    public var window = 65_535
    /// How far away the simulator seems to be: the round trip. All bytes take half of it in either direction. As many are
    /// under way as the windows of HTTP/2 allow; a peer that does not heed them waits at ``window`` and four megabytes.
    public var distance = Duration.zero
    /// The port of the legacy feedback service; 0 lets the system choose. With nil there is none.
    public var feedbackPort: UInt16?
    /// Tokens that are dead from the start, as the feedback service reports them.
    public var deadTokens: [DeadToken] = []
    /// The feedback service's first connection is reset after so many bytes of the list; later ones are not.
    public var feedbackCutAfter: Int?
    /// A file that gets a JSON line for each request and each connection that failed, appended; `-` is standard output.
    public var logFile: String?
    /// Keeps every request in memory, for ``APNsSimulator/deliveries()``.
    public var recordsDeliveries = false
    /// Told of every request when it has come and when it was answered, on the simulator's own thread: nothing else goes
    /// on until it returns, so it should be quick. A test can break something at just that moment.
    public var observer: (@Sendable (SimulatorEvent) -> Void)?
    /// Told of each connection that failed: in its handshake, because its client broke the rules of HTTP/2, or because it
    /// left a frame incomplete for too long. On the simulator's own thread, too.
    public var failureObserver: (@Sendable (ConnectionFailure) -> Void)?
    /// Only requests to tokens that begin so are logged, kept and told of; the others are just counted, which costs little.
    public var recordedPrefix = ""

    /// Apple's own behaviour on a port of 127.0.0.1 that the system chooses.
    public init() {}

    func check() throws(SimulatorError) {
        for (name, value) in [
            ("goaway-after", goAwayAfter), ("reset-after", resetAfter), ("feedback-cut-after", feedbackCutAfter),
        ] {
            if let value, value < 1 {
                throw SimulatorError(.badConfiguration, "\(name) counts requests from 1, so it cannot be \(value).")
            }
        }
        if distance < .zero { throw SimulatorError(.badConfiguration, "The distance cannot be negative.") }
        if !(1...Int(Int32.max)).contains(window) {
            throw SimulatorError(.badConfiguration, "A window has 1 to \(Int32.max) bytes, not \(window).")
        }
        if delay < .zero { throw SimulatorError(.badConfiguration, "The delay of answers cannot be negative.") }
        for topic in topics where !HeaderForm.isTopic(Array(topic.utf8).span) {
            throw SimulatorError(
                .badConfiguration,
                "\"\(topic)\" is no topic: it has 1 to 255 letters, digits, dots, hyphens and underscores."
            )
        }
        if serverNames.isEmpty {
            throw SimulatorError(.badConfiguration, "The server's certificate needs a name, such as localhost.")
        }
        for name in serverNames where !ServerName.isValid(name) {
            throw SimulatorError(
                .badConfiguration,
                "The server's certificate cannot have the name \"\(name)\": give a host name in ASCII, such as apns.test, or an "
                    + "address in figures."
            )
        }
    }
}
