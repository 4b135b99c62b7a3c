/// Apple's push notification service, at the other end of a connection.
public struct APNs: Sendable {
    private let connection: Connection

    /// The service at that gateway.
    public init(_ connection: Connection) { self.connection = connection }

    /// Sends a message to each of its tokens and says what came of it.
    ///
    /// - Throws: A `PushError` if the message cannot be written, or if nothing at all was sent: no connection could be
    ///   made, none had room in time, or the task was cancelled before. Whatever happens after that is in the result.
    public func send(_ message: Message) async throws(PushError) -> Result {
        guard !message.tokens.isEmpty else { return Result(of: message, Outcomes(repeating: .delivered, count: 0)) }
        let topic = connection.credential.topic(for: message.pushType)
        let outcomes = await connection.deliver(try message.batch(topic: topic))
        if let reason = outcomes.unsentReason, outcomes.areUnsent { throw reason }
        return Result(of: message, outcomes)
    }

    /// The tokens that the gateway reports dead, where it is one of the legacy feedback service, such as
    /// `Gateway.feedback`: with a certificate, over a connection of its own. Other gateways have no such list: there each
    /// `Result` has its own `feedback`.
    ///
    /// - Throws: A `PushError` if no connection could be made. What goes wrong after that ends the list, and is its
    ///   `failure`.
    public func feedback() async throws(PushError) -> FeedbackList {
        try await connection.feedback()
    }
}
