/// What Apple stores of the messages that are published to a channel. It cannot be changed later.
public enum MessageStoragePolicy: Int, Sendable, CaseIterable, Codable {
    /// Nothing: a device that is offline misses the message. Messages have no expiry.
    case nothing = 0
    /// The last message, until its expiry and for eight hours at most.
    case lastMessage = 1
}
