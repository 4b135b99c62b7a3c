/// Apple's push notification service, through a connection.
public struct APNs: Sendable {
    private let connection: Connection

    /// The service, through that connection.
    public init(_ connection: Connection) { self.connection = connection }

    /// Sends a message to each of its tokens.
    ///
    /// - Throws: A `PushError` if the message cannot be encoded, or if nothing was sent: no connection could be made, none had
    ///   room in time, or the task was cancelled. Later failures are in the result.
    public func send(_ message: Message) async throws(PushError) -> Result {
        guard !message.tokens.isEmpty else { return Result(of: message, Outcomes(repeating: .delivered, count: 0)) }
        let topic = connection.credential.topic(for: message.pushType)
        let outcomes = await connection.deliver(try message.batch(topic: topic))
        if let reason = outcomes.unsentReason, outcomes.areUnsent { throw reason }
        return Result(of: message, outcomes)
    }

    /// The dead tokens that a gateway of the legacy feedback service lists, such as `Gateway.feedback`. This needs a
    /// certificate. Other gateways have no list: there each `Result` has its own `feedback`.
    ///
    /// - Throws: A `PushError` if no connection could be made. A later failure ends the list, and is its `failure`.
    public func feedback() async throws(PushError) -> FeedbackList {
        try await connection.feedback()
    }
}

/// The same as `APNs.Session`, for files in which no other module has a `Session`.
public typealias Session = APNs.Session

/// The same as `APNs.Message`, for files in which no other module has a `Message`.
public typealias Message = APNs.Message
