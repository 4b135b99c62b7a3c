extension APNs {
    /// A push for one or many devices.
    ///
    /// What APNs checks is not checked here: its rejections are in the `Result`.
    public struct Message: Hashable, Sendable {
        /// The message's identity. The identities of its pushes derive from it, so a retry has the same ones.
        public let id: PushID

        /// The device tokens in hexadecimal digits.
        public var tokens: [String]

        /// The push type.
        public var pushType: PushType

        /// 10: at once; 5: when it suits the device's battery; 1: without waking it; nil: the push type's default.
        public var priority: UInt8?

        /// Until when Apple keeps trying, in seconds since 1970; 0: once; nil: Apple's default.
        public let expiration: Int64?

        /// The group of which a device shows only the last push.
        public let collapseID: String?

        /// The topic; nil: the credential's, if it has one.
        public var topic: String?

        let payload: Payload

        /// A message built from named fields.
        ///
        /// - Parameters:
        ///   - tokens: The device tokens in hexadecimal digits.
        ///   - alert: A text, or an object with `title`, `body` and Apple's other members.
        ///   - badge: The number on the app's icon; 0 removes it.
        ///   - sound: A sound's name, or the object of a critical alert.
        ///   - contentAvailable: Whether the app is woken to fetch content.
        ///   - mutableContent: Whether the app's extension may change the notification.
        ///   - category: The category of notification, which determines its buttons.
        ///   - threadID: The group in which it is shown.
        ///   - aps: Further members of the `aps` object, such as `interruption-level` or `content-state`.
        ///   - extra: The app's own part of the payload, beside `aps`.
        ///   - pushType: The push type.
        ///   - priority: 10, 5 or 1.
        ///   - expiry: Until when Apple keeps trying.
        ///   - collapseID: The group of which a device shows only the last push: 64 bytes at most.
        ///   - topic: The topic; nil: the credential's.
        public init(
            tokens: [String],
            alert: JSON? = nil,
            badge: Int? = nil,
            sound: JSON? = nil,
            contentAvailable: Bool = false,
            mutableContent: Bool = false,
            category: String? = nil,
            threadID: String? = nil,
            aps: [String: JSON] = [:],
            extra: [String: JSON] = [:],
            pushType: PushType = .alert,
            priority: UInt8? = nil,
            expiry: Expiry? = nil,
            collapseID: String? = nil,
            topic: String? = nil
        ) throws(PushError) {
            guard extra["aps"] == nil else {
                throw PushError(.invalidMessage, "“extra” may not contain “aps”: pass its members as “aps”.")
            }
            var fields = aps
            fields["alert"] = alert ?? fields["alert"]
            fields["badge"] = badge.map { .integer(Int64($0)) } ?? fields["badge"]
            fields["sound"] = sound ?? fields["sound"]
            fields["content-available"] = contentAvailable ? 1 : fields["content-available"]
            fields["mutable-content"] = mutableContent ? 1 : fields["mutable-content"]
            fields["category"] = category.map { .string($0) } ?? fields["category"]
            fields["thread-id"] = threadID.map { .string($0) } ?? fields["thread-id"]
            try self.init(
                id: .random(),
                tokens: tokens,
                payload: .built(aps: fields, extra: extra),
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
            priority: UInt8? = nil,
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
            priority: UInt8?,
            expiration: Int64?,
            collapseID: String?,
            topic: String?
        ) throws(PushError) {
            if let collapseID, collapseID.utf8.count > 64 {
                throw PushError(
                    .invalidMessage,
                    "The collapse identifier is \(collapseID.utf8.count) bytes long; APNs accepts 64."
                )
            }
            self.id = id
            self.tokens = tokens
            self.payload = payload
            self.pushType = pushType
            self.priority = priority
            self.expiration = expiration
            self.collapseID = collapseID
            self.topic = topic
        }
    }
}

extension APNs.Message {
    /// Until when Apple keeps trying to reach a device.
    public enum Expiry: Hashable, Sendable {
        /// Only once: a device that cannot be reached does not get it.
        case once
        /// Until that time, in seconds since 1970.
        case at(Int64)
        /// For this long from now.
        case after(Duration)

        var seconds: Int64 {
            switch self {
            case .once: 0
            case .at(let seconds): seconds
            case .after(let duration): UnixTime.now() + duration.components.seconds
            }
        }
    }
}

extension APNs.Message {
    /// The message as a batch, with one push for each token.
    func batch(topic: String?) throws(PushError) -> PushBatch {
        let payload = try self.payload.bytes()
        let topic = Array((self.topic ?? topic ?? "").utf8)
        let collapseID = Array((self.collapseID ?? "").utf8)
        var batch = PushBatch()
        batch.reserve(pushes: tokens.count, headings: 1, bytes: payload.count + 128 + 64 * tokens.count)
        // A span of an array that stays alive and unchanged through the call.
        let heading = unsafe batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID.span.bytes
        )
        for token in tokens {
            let bytes = Array(token.utf8)
            unsafe batch.addPush(token: bytes.span.bytes, heading: heading, id: pushID(for: token))
        }
        return batch
    }

    /// The identity of the push to a token: the same in each retry.
    func pushID(for token: String) -> PushID {
        let token = Array(token.utf8)
        // A span of an array that stays alive and unchanged through the call.
        return unsafe PushID.derived(installation: (id.high, id.low), message: 0, token: token.span.bytes)
    }
}
