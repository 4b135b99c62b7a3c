/// Why the simulator could not be set up, and what to do.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// The kind of the error.
    public struct Code: Sendable, Hashable {
        private enum Kind { case badRule, badKey, badConfiguration, unavailable }
        private let kind: Kind

        /// An answer rule that cannot be read.
        public static let badRule = Code(kind: .badRule)
        /// A text that is not a P-256 key.
        public static let badKey = Code(kind: .badKey)
        /// A setting outside its range.
        public static let badConfiguration = Code(kind: .badConfiguration)
        /// A port, a file or the network that cannot be opened.
        public static let unavailable = Code(kind: .unavailable)
    }

    /// The kind of the error.
    public let code: Code
    /// The sentence.
    public let message: String
    /// The error that caused this one, if there is one.
    public let underlying: (any Error)?

    init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// The sentence.
    public var description: String { message }

    static func badTopic(_ topic: String) -> SimulatorError {
        let words = "is not a topic, which has 1 to 255 letters, digits, dots, hyphens and underscores."
        return SimulatorError(.badConfiguration, "\"\(topic)\" \(words)")
    }

    /// Calls the body, and turns its error into `unavailable` with these words in front.
    static func unavailable<R: ~Copyable>(_ words: String = "", _ body: () throws -> R) throws(SimulatorError) -> R {
        do {
            return try body()
        } catch {
            throw SimulatorError(.unavailable, words + "\(error)", underlying: error)
        }
    }
}
