extension APNs {
    /// The channels of an app. A push to a channel reaches every Live Activity that follows it.
    ///
    /// ```swift
    /// let service = session.connection(to: .channels, credential: credential)
    /// let channels = APNs.Channels(of: "org.example.app", at: service)
    /// let channel = try await channels.create(.lastMessage)
    /// ```
    public struct Channels: Sendable {
        private let connection: Connection

        /// The bundle ID of the app.
        public let app: String

        /// The channels of the app with that bundle ID.
        ///
        /// - Parameters:
        ///   - app: The bundle ID.
        ///   - connection: A connection to a channel service, such as `Gateway.channels`.
        public init(of app: String, at connection: Connection) {
            self.app = app
            self.connection = connection
        }

        /// Creates a channel, and returns its ID.
        ///
        /// If the error is ``ChannelError/Code/unknown``, there may be a new channel with an unknown ID: compare ``list()`` with
        /// your own records.
        public func create(_ policy: MessageStoragePolicy) async throws(ChannelError) -> ChannelID {
            guard case .created(let id) = try await ask(.create(policy)) else { throw .misplaced }
            return id
        }

        /// What Apple stores of messages to the channel. Throws a refusal if there is no such channel.
        public func read(_ channel: ChannelID) async throws(ChannelError) -> MessageStoragePolicy {
            guard case .found(let policy) = try await ask(.read(channel)) else { throw .misplaced }
            return policy
        }

        /// Removes a channel. If it does not exist, Apple refuses with 404 `BadPath`.
        public func remove(_ channel: ChannelID) async throws(ChannelError) {
            guard case .removed = try await ask(.remove(channel)) else { throw .misplaced }
        }

        /// All channels of the app, at most 10,000.
        public func list() async throws(ChannelError) -> [ChannelID] {
            guard case .list(let channels) = try await ask(.list) else { throw .misplaced }
            return channels
        }

        private func ask(_ action: ChannelRequest.Action) async throws(ChannelError) -> ChannelRequest.Answer {
            try await connection.manage(ChannelRequest(action, of: app))
        }
    }

    /// Publishes a message to a channel, and returns the push with its outcome. The message updates or ends the Live Activities
    /// that follow the channel; it cannot start one.
    ///
    /// - Parameters:
    ///   - message: An update of a Live Activity. Its tokens are ignored, and so is the suffix of its topic. Its expiry must be nil
    ///     or once unless the channel stores the last message.
    ///   - channel: The channel, created by ``Channels/create(_:)``.
    ///   - priority: The priority in place of the message's. It may be ``Priority/low``, which other updates of Live Activities may
    ///     not have.
    /// - Throws: A `PushError` if the message cannot be encoded or has another push type, or if nothing was sent.
    public func publish(
        _ message: Message,
        to channel: ChannelID,
        priority: Priority? = nil
    ) async throws(PushError) -> Push {
        guard message.pushType == .liveActivity else {
            throw PushError(
                .invalidMessage,
                "A channel takes updates of Live Activities: give the message the push type .liveActivity."
            )
        }
        var push = message
        push.tokens = [channel.hexadecimal]
        push.pushType = .channel
        push.priority = priority ?? message.priority
        let suffix = PushType.liveActivity.topicSuffix
        if let topic = push.topic, topic.hasSuffix(suffix) { push.topic = String(topic.dropLast(suffix.count)) }
        let outcomes = try await outcomes(of: push)
        if let reason = outcomes.unsentReason, outcomes.areUnsent, reason.code != .cancelled { throw reason }
        return Push(to: channel, as: push, outcomes)
    }
}

extension ChannelError {
    fileprivate static let misplaced = ChannelError(
        .malformed,
        "The backend answered a request other than the one it was given."
    )
}
