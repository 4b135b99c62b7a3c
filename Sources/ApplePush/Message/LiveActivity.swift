public import FoundationEssentials

extension APNs {
    /// What a push does to a Live Activity: it starts one, updates it or ends it.
    ///
    /// States and attributes are written as `JSONEncoder` writes them by default, because that is how the device reads them: a
    /// date in them is in seconds since 2001.
    public struct LiveActivity: Hashable, Sendable {
        /// How the device gets the updates of an activity that a push starts (iOS 18).
        public enum Updates: Hashable, Sendable {
            /// The app gets a push token for the activity, and registers it with your server.
            case token
            /// The updates come from the channel with this ID.
            case channel(String)
        }

        /// The members of `aps` that belong to it.
        let members: [String: JSON]

        /// Starts an activity on devices whose push-to-start tokens the message names. The message needs an alert.
        ///
        /// - Parameters:
        ///   - attributesType: The name of the app's type of attributes.
        ///   - attributes: The values that stay the same during the activity.
        ///   - state: The first state.
        ///   - updates: How the device gets updates; nil for the app's own setting.
        public static func start(
            attributesType: String,
            attributes: some Encodable,
            state: some Encodable,
            updates: Updates? = nil
        ) throws(PushError) -> Self {
            var members = try members("start", state)
            members["attributes-type"] = .string(attributesType)
            members["attributes"] = try JSON(encoding: attributes, with: JSONEncoder())
            switch updates {
            case .token: members["input-push-token"] = 1
            case .channel(let id): members["input-push-channel"] = .string(id)
            case nil: break
            }
            return Self(members: members)
        }

        /// Shows a new state.
        public static func update(state: some Encodable) throws(PushError) -> Self {
            Self(members: try members("update", state))
        }

        /// Ends an activity with a last state, which stays on the lock screen until `dismissal`, for at most four hours. Nil means
        /// four hours; a time in the past removes it at once.
        public static func end(state: some Encodable, dismissal: Date? = nil) throws(PushError) -> Self {
            var members = try members("end", state)
            if let dismissal { members["dismissal-date"] = .integer(dismissal.unixSeconds) }
            return Self(members: members)
        }

        private static func members(_ event: String, _ state: some Encodable) throws(PushError) -> [String: JSON] {
            ["event": .string(event), "content-state": try JSON(encoding: state, with: JSONEncoder())]
        }
    }
}

extension APNs.Message {
    /// A message for a Live Activity, of the push type `liveactivity`.
    ///
    /// - Parameters:
    ///   - tokens: The push-to-start tokens of devices, or the tokens of activities.
    ///   - activity: The start, update or end.
    ///   - timestamp: When the state was current. A device ignores updates older than the state it shows.
    ///   - alert: A notification together with the new state. An activity that starts must have one.
    ///   - sound: The sound of that notification.
    ///   - staleDate: When the state becomes outdated.
    ///   - relevanceScore: Its rank among the app's activities.
    ///   - priority: How urgently it is delivered. If nil, at once with an alert, and otherwise when it suits the battery, which
    ///     Apple does not limit.
    ///   - expiry: When Apple stops trying.
    ///   - topic: The app's bundle ID, with or without the suffix of the push type; nil for the credential's.
    public init(
        tokens: [String],
        activity: APNs.LiveActivity,
        timestamp: Date = Date(),
        alert: APNs.Alert? = nil,
        sound: APNs.Sound? = nil,
        staleDate: Date? = nil,
        relevanceScore: Double? = nil,
        priority: APNs.Priority? = nil,
        expiry: APNs.Expiry? = nil,
        topic: String? = nil
    ) throws(PushError) {
        var members = activity.members
        members["timestamp"] = .integer(timestamp.unixSeconds)
        if members["event"] == "start", alert == nil {
            throw PushError(
                .invalidMessage,
                "The start of a Live Activity needs an alert: APNs does not start it without one."
            )
        }
        try self.init(
            tokens: tokens,
            alert: alert,
            sound: sound,
            relevanceScore: relevanceScore,
            staleDate: staleDate,
            aps: members,
            pushType: .liveActivity,
            priority: priority ?? (alert == nil ? .conservesPower : .immediate),
            expiry: expiry,
            topic: topic
        )
    }
}
