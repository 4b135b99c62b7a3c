public import FoundationEssentials

extension APNs {
    /// What a push does to a remote media session, which the device shows as now playing (iOS 27): it starts one, updates it or
    /// ends it.
    ///
    /// Attributes are written as `JSONEncoder` writes them by default. Their member `id`, a string or a number, names the session.
    public struct MediaSession: Hashable, Sendable {
        /// The members of `aps` that belong to it.
        let members: [String: JSON]

        /// Starts a session on devices whose push-to-start tokens the message names.
        public static func start(_ attributes: some Encodable) throws(PushError) -> Self {
            try Self("start", attributes)
        }

        /// Shows new attributes.
        public static func update(_ attributes: some Encodable) throws(PushError) -> Self {
            try Self("update", attributes)
        }

        /// Ends a session. Its attributes need only an `id`.
        public static func end(_ attributes: some Encodable) throws(PushError) -> Self {
            try Self("end", attributes)
        }

        private init(_ event: String, _ attributes: some Encodable) throws(PushError) {
            let attributes = try JSON(encoding: attributes, with: JSONEncoder())
            guard case .object(let members) = attributes, Self.isName(members["id"]) else {
                throw PushError(
                    .invalidMessage,
                    "The attributes of a media session are an object whose “id”, a string or a number, names the session."
                )
            }
            self.members = ["event": .string(event), "attributes": attributes]
        }

        private static func isName(_ id: JSON?) -> Bool {
            switch id {
            case .string(let text): !text.isEmpty
            case .integer, .number, .decimal: true
            default: false
            }
        }
    }
}

extension APNs.Message {
    /// A message for a remote media session, of the push type `nowplaying`.
    ///
    /// - Parameters:
    ///   - tokens: The push-to-start tokens of devices, or the update tokens of sessions.
    ///   - mediaSession: The start, update or end.
    ///   - timestamp: When the attributes were current. A device ignores updates older than what it shows.
    ///   - priority: How urgently it is delivered; nil for Apple's default.
    ///   - expiry: When Apple stops trying.
    ///   - topic: The bundle ID of the app, not of its extension, with or without the suffix of the push type; nil for the
    ///     credential's.
    public init(
        tokens: [String],
        mediaSession: APNs.MediaSession,
        timestamp: Date = Date(),
        priority: APNs.Priority? = nil,
        expiry: APNs.Expiry? = nil,
        topic: String? = nil
    ) throws(PushError) {
        var members = mediaSession.members
        members["timestamp"] = .integer(timestamp.unixSeconds)
        try self.init(
            tokens: tokens,
            aps: members,
            pushType: .nowPlaying,
            priority: priority,
            expiry: expiry,
            topic: topic
        )
    }
}
