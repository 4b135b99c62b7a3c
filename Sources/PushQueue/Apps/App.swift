package import ApplePush

/// An app as a worker needs it: what was in its row, made ready for use.
package struct App: Sendable {
    package let id: Int32
    package let name: String
    /// Of alerts that name none: its bundle identifier.
    let topic: [UInt8]
    package let isPaused: Bool
    /// Pushes a second, for the whole fleet.
    package let mostRate: Int32?
    package let mostAttempts: Int16
    let certificate: Int32?
    /// Where and as whom it sends, or why it cannot.
    package let route: Result<Route, Trouble>

    /// The topic of messages that name none: Apple derives those of most push types from the bundle identifier.
    func topic(for pushType: PushType?) -> [UInt8] {
        // Nearly all messages.
        guard let pushType, pushType != .alert, !topic.isEmpty else { return topic }
        let suffix = Array(pushType.topicSuffix.utf8)
        return topic.suffix(suffix.count).elementsEqual(suffix) ? topic : topic + suffix
    }

    /// Where pushes go, and what they are sent with.
    package struct Route: Hashable, Sendable {
        package let gateway: Gateway
        package let credential: Credential
    }
}
