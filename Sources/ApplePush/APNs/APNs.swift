/// Apple's push notification service, through a connection.
public struct APNs: Sendable {
    private let connection: Connection

    /// The service, through that connection.
    public init(_ connection: Connection) { self.connection = connection }

    /// Sends a message to each of its tokens.
    ///
    /// If the task is cancelled, no more pushes are sent. The result's `unsent` lists the tokens of those that were not sent.
    ///
    /// - Throws: A `PushError` if the message cannot be encoded, or if nothing was sent because no connection could be opened or
    ///   none had room in time. Later failures are in the result.
    public func send(_ message: Message) async throws(PushError) -> Result {
        let outcomes = try await outcomes(of: message)
        if let reason = outcomes.unsentReason, outcomes.areUnsent, reason.code != .cancelled { throw reason }
        return Result(of: message, outcomes)
    }

    /// Sends a message to tokens that are read during sending, and returns the pushes in the order of the tokens. For more tokens
    /// than should be in memory.
    ///
    /// ```swift
    /// for try await push in apns.send(message, to: database.tokens()) where push.isDead { forget(push.token) }
    /// ```
    ///
    /// - Parameters:
    ///   - message: What to send. Its own tokens are ignored.
    ///   - tokens: The device tokens in hexadecimal digits.
    ///   - atOnce: How many tokens may be read ahead of the last push that the caller has received.
    public func send<Tokens: AsyncSequence>(
        _ message: Message,
        to tokens: Tokens,
        atOnce: Int = 8000
    ) -> PushSequence<Tokens> where Tokens.Element == String {
        PushSequence(of: message, to: tokens, atOnce: atOnce, through: self)
    }

    /// The same for a sequence that returns tokens without waiting, such as a range of an array or lines of a file.
    public func send<Tokens: Sequence>(
        _ message: Message,
        to tokens: Tokens,
        atOnce: Int = 8000
    ) -> PushSequence<TokensAtHand<Tokens>> where Tokens.Element == String {
        send(message, to: TokensAtHand(tokens), atOnce: atOnce)
    }

    /// The dead tokens that a gateway of the legacy feedback service lists, such as `Gateway.feedback`. This needs a certificate.
    /// Other gateways have no list; for them, see the `feedback` of each `Result`.
    ///
    /// - Throws: A `PushError` if no connection could be opened, or if the gateway speaks HTTP/2 and so has no list. A later
    ///   failure ends the list and becomes its `failure`.
    public func feedback() async throws(PushError) -> LegacyFeedbackList {
        try await connection.feedback()
    }

    func outcomes(of message: Message) async throws(PushError) -> Outcomes {
        if message.tokens.isEmpty { return Outcomes(repeating: .accepted, count: 0) }
        let topic = connection.credential.topic(for: message.pushType)
        return await connection.deliver(try message.batch(topic: topic))
    }
}

/// The same as `APNs.Session`, named as in apnsclient, for files in which no other module has a `Session`.
public typealias Session = APNs.Session

/// The same as `APNs.Message`, named as in apnsclient, for files in which no other module has a `Message`.
public typealias Message = APNs.Message
