import CarillonIO
import CarillonText

/// A dead device token and the time of its death, as the legacy feedback service reports them.
public struct DeadToken: Sendable, Hashable {
    /// The bytes of the device token.
    public let token: [UInt8]
    /// The time of its death in seconds since 1970; nil for the time of its addition.
    public let seconds: UInt32?
    /// The topic that it was pushed to; nil to report it to any certificate.
    public let topic: String?

    /// A device token in hexadecimal digits.
    public init(_ digits: String, seconds: UInt32? = nil, topic: String? = nil) throws(SimulatorError) {
        let text = Array(digits.utf8)
        guard let token = Hexadecimal.bytes(of: text.span), (1...65_535).contains(token.count) else {
            throw SimulatorError(.badRule, "\"\(digits)\" is not a device token: give pairs of hexadecimal digits.")
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
            throw SimulatorError(.badRule, "\"\(parts[1])\" is not a time in seconds since 1970, in \"\(text)\".")
        }
        try self.init(String(parts[0]), seconds: seconds)
    }

    /// The entry in the feedback service's list.
    var entry: DeadTokenList.Entry {
        let now = UInt32(truncatingIfNeeded: WallClock.seconds)
        return DeadTokenList.Entry(token: token, topic: topic.map { Array($0.utf8) }, seconds: seconds ?? now)
    }
}
