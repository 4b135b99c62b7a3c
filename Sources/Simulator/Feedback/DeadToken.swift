/// A device token as the legacy feedback service reports it: dead, and since when.
public struct DeadToken: Sendable, Hashable {
    /// The token's bytes.
    public let token: [UInt8]
    /// Seconds since 1970, as the service counts; nil: when it is added.
    public let seconds: UInt32?
    /// The topic that it was pushed to; nil: it is told to any certificate.
    public let topic: String?

    /// A token in hexadecimal digits.
    public init(_ digits: String, seconds: UInt32? = nil, topic: String? = nil) throws(SimulatorError) {
        let text = Array(digits.utf8)
        guard let token = HeaderForm.bytes(of: text.span), (1...65_535).contains(token.count) else {
            throw SimulatorError(.badRule, "\"\(digits)\" is no token: it takes an even number of hexadecimal digits.")
        }
        self.token = token
        self.seconds = seconds
        self.topic = topic
    }

    /// Reads `TOKEN[:UNIX_SECONDS]`.
    public init(parsing text: String) throws(SimulatorError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            try self.init(text)
            return
        }
        guard let seconds = UInt32(parts[1]) else {
            throw SimulatorError(.badRule, "\"\(parts[1])\" is no time in seconds since 1970, in \"\(text)\".")
        }
        try self.init(String(parts[0]), seconds: seconds)
    }
}
