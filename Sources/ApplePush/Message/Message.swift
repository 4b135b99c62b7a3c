public import FoundationEssentials

extension APNs {
    /// A push for one or many devices.
    ///
    /// A violation of the push type's rules is an error: a priority, a long payload, a notification in a background push. The
    /// `Result` reports everything else that APNs checks.
    public struct Message: Hashable, Sendable {
        /// The message's identity. The identities of its pushes derive from it, so a retry has the same ones. If a copy is to be a
        /// different message, give it its own identity.
        public var id: PushID

        /// The device tokens in hexadecimal digits.
        public var tokens: [String]

        /// The push type.
        public var pushType: PushType

        /// How urgently it is delivered. If nil, the push type's default is used.
        public var priority: Priority?

        /// When Apple stops trying, in seconds since 1970; 0 to try once; nil for Apple's default.
        public var expiration: Int64?

        /// The group of which a device shows only the last push: at most 64 bytes.
        public var collapseID: String?

        /// The topic, which is completed with the suffix of the push type; nil for the credential's, if it has one.
        public var topic: String?

        var payload: Payload

        /// A message built from named fields.
        ///
        /// - Parameters:
        ///   - tokens: The device tokens in hexadecimal digits.
        ///   - alert: A text, or several texts with different roles.
        ///   - badge: The number on the app's icon; 0 removes it.
        ///   - sound: A sound's name, or that of a critical alert.
        ///   - contentAvailable: Whether the app is woken to fetch content.
        ///   - mutableContent: Whether the app's extension may change the notification.
        ///   - category: The category of notification, which determines its buttons.
        ///   - threadID: The group in which it is shown.
        ///   - interruptionLevel: How much it disturbs.
        ///   - relevanceScore: Its rank among the app's notifications, from 0 to 1.
        ///   - targetContentID: The window of the app that it brings to the front.
        ///   - filterCriteria: The criteria that decide whether it is shown in the current Focus.
        ///   - staleDate: When a Live Activity becomes outdated.
        ///   - aps: Further members of the `aps` object, such as `content-state`.
        ///   - extra: The app's own part of the payload, beside `aps`.
        ///   - userData: More of the app's own part: a value that encodes to an object, whose members stand beside `aps`.
        ///     Dates are written in seconds since 1970; for other rules, pass `JSON(encoding:with:)`.
        ///   - pushType: The push type.
        ///   - priority: How urgently it is delivered. If nil, the push type's default is used.
        ///   - expiry: When Apple stops trying.
        ///   - collapseID: The group of which a device shows only the last push: at most 64 bytes.
        ///   - topic: The topic, which is completed with the suffix of the push type; nil for the credential's.
        public init(
            tokens: [String],
            alert: Alert? = nil,
            badge: Int? = nil,
            sound: Sound? = nil,
            contentAvailable: Bool = false,
            mutableContent: Bool = false,
            category: String? = nil,
            threadID: String? = nil,
            interruptionLevel: InterruptionLevel? = nil,
            relevanceScore: Double? = nil,
            targetContentID: String? = nil,
            filterCriteria: String? = nil,
            staleDate: Date? = nil,
            aps: [String: JSON] = [:],
            extra: [String: JSON] = [:],
            userData: (any Encodable)? = nil,
            pushType: PushType = .alert,
            priority: Priority? = nil,
            expiry: Expiry? = nil,
            collapseID: String? = nil,
            topic: String? = nil
        ) throws(PushError) {
            var fields = aps
            fields.add(alert?.json, as: .alert)
            fields.add(badge.map { .integer(Int64($0)) }, as: .badge)
            fields.add(sound?.json, as: .sound)
            fields.add(contentAvailable ? 1 : nil, as: .contentAvailable)
            fields.add(mutableContent ? 1 : nil, as: .mutableContent)
            fields.add(category.map { .string($0) }, as: .category)
            fields.add(threadID.map { .string($0) }, as: .threadID)
            fields.add((interruptionLevel?.rawValue).map { .string($0) }, as: .interruptionLevel)
            fields.add(relevanceScore.map { .number($0) }, as: .relevanceScore)
            fields.add(targetContentID.map { .string($0) }, as: .targetContentID)
            fields.add(filterCriteria.map { .string($0) }, as: .filterCriteria)
            fields.add((staleDate?.unixSeconds).map { .integer($0) }, as: .staleDate)
            try self.init(
                id: .random(),
                tokens: tokens,
                payload: .built(aps: fields, extra: UserData.members(of: userData, beside: extra)),
                pushType: pushType,
                priority: priority,
                expiration: expiry?.seconds,
                collapseID: collapseID,
                topic: topic
            )
        }

        /// A message whose payload is sent byte for byte, instead of named fields.
        public init(
            tokens: [String],
            payload: String,
            pushType: PushType = .alert,
            priority: Priority? = nil,
            expiry: Expiry? = nil,
            collapseID: String? = nil,
            topic: String? = nil
        ) throws(PushError) {
            try self.init(
                id: .random(),
                tokens: tokens,
                payload: .raw(Array(payload.utf8)),
                pushType: pushType,
                priority: priority,
                expiration: expiry?.seconds,
                collapseID: collapseID,
                topic: topic
            )
        }

        init(
            id: PushID,
            tokens: [String],
            payload: Payload,
            pushType: PushType,
            priority: Priority?,
            expiration: Int64?,
            collapseID: String?,
            topic: String?
        ) throws(PushError) {
            self.id = id
            self.tokens = tokens
            self.payload = payload
            self.pushType = pushType
            self.priority = priority
            self.expiration = expiration
            self.collapseID = collapseID
            self.topic = topic
            try check()
        }
    }
}
