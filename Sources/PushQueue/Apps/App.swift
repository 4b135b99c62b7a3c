package import ApplePush

/// An app as a worker needs it: what was in its row, made ready for use.
package struct App: Sendable {
    package let id: Int32
    package let name: String
    /// The topic of messages that name none.
    let topic: [UInt8]
    package let isPaused: Bool
    /// Pushes a second, for the whole fleet.
    package let mostRate: Int32?
    package let mostAttempts: Int16
    let certificate: Int32?
    /// Where and as whom it sends, or why it cannot.
    package let route: Result<Route, Trouble>

    /// Where pushes go, and what they are sent with.
    package struct Route: Hashable, Sendable {
        package let gateway: Gateway
        package let credential: Credential
    }
}
