package import ApplePush

/// An app as a worker needs it.
package struct App: Sendable {
    package let id: Int32
    package let name: String
    /// Its bundle identifier, the topic of alerts that name none.
    let topic: [UInt8]
    package let isPaused: Bool
    /// Pushes a second of the whole fleet.
    package let mostRate: Int32?
    package let mostAttempts: Int16
    let certificate: Int32?
    /// Or why it cannot send.
    package let route: Result<Route, Trouble>

    /// The topic of messages that name none. Apple derives it from the bundle identifier and the push type.
    func topic(for pushType: PushType?) -> [UInt8] {
        guard let pushType, pushType != .alert, !topic.isEmpty else { return topic }
        let suffix = Array(pushType.topicSuffix.utf8)
        return topic.suffix(suffix.count).elementsEqual(suffix) ? topic : topic + suffix
    }

    package struct Route: Hashable, Sendable {
        package let gateway: Gateway
        package let credential: Credential
    }
}
