/// The answer of a binary gateway before it closes the connection: which notification it refused, and why. It sends no answer for
/// accepted notifications.
struct BinaryAnswer: Equatable {
    static let length = 6
    private static let command: UInt8 = 8
    private static let shutdown: UInt8 = 10

    let status: UInt8
    let identifier: UInt32

    /// Nil if these are not the six bytes of an answer.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.length, bytes[0] == Self.command else { return nil }
        status = bytes[1]
        identifier = bytes[2...].reduce(0) { $0 << 8 | UInt32($1) }
    }

    init(status: UInt8, identifier: UInt32) {
        self.status = status
        self.identifier = identifier
    }

    /// Whether the gateway is shutting down; the answer then names the last notification that it accepted.
    var isShutdown: Bool { status == Self.shutdown }

    /// The outcome of the refused notification. Its reason is the HTTP/2 reason with the same meaning, so that no other code has to
    /// distinguish the protocols.
    var outcome: Outcome {
        guard let reason = Self.reasons[status] else { return Outcome(.unknown, status: UInt16(status)) }
        return Outcome(.rejected, status: UInt16(status), reason: reason)
    }

    private static let reasons: [UInt8: Reason] = [
        1: "InternalServerError", 2: "MissingDeviceToken", 3: "MissingTopic", 4: "PayloadEmpty", 5: "BadDeviceToken",
        6: "BadTopic", 7: "PayloadTooLarge", 8: "BadDeviceToken",
    ].compactMapValues { Reason(name: $0) }
}
