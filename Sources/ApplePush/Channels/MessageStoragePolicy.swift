/// Which of the messages published to a channel Apple stores. It cannot be changed later.
public enum MessageStoragePolicy: Int, Sendable, CaseIterable, Codable {
    /// Nothing: a device that is offline misses the message. Messages have no expiry.
    case nothing = 0
    /// The last message, until its expiry and for at most eight hours.
    case lastMessage = 1
}
