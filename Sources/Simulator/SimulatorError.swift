/// Why the simulator could not be set up, in a sentence that says what to do.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// What kind of thing went wrong.
    public struct Code: Sendable, Hashable {
        private enum Kind { case badRule, badKey, badConfiguration, unavailable }
        private let kind: Kind

        /// An answer rule that cannot be read.
        public static let badRule = Code(kind: .badRule)
        /// A key that is no P-256 key, or whose file holds none.
        public static let badKey = Code(kind: .badKey)
        /// A setting outside its range.
        public static let badConfiguration = Code(kind: .badConfiguration)
        /// A port, a file or the network that would not open.
        public static let unavailable = Code(kind: .unavailable)
    }

    /// What kind of thing went wrong.
    public let code: Code
    /// The sentence.
    public let message: String
    /// What lay below, where something did.
    public let underlying: (any Error)?

    init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// The sentence.
    public var description: String { message }
}
