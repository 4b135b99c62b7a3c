import FoundationEssentials

/// A message as JSON: `{"tokens":["…"],"payload":{"aps":{"alert":"Hello"}}}`. It may have the named fields instead of a
/// payload: `{"tokens":["…"],"alert":"Hello","badge":1}`. Times are in seconds since 1970.
extension APNs.Message: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case id, tokens, payload, topic, priority, expiration, alert, badge, sound, category, aps, extra
        case pushType = "push_type"
        case collapseID = "collapse_id"
        case contentAvailable = "content_available"
        case mutableContent = "mutable_content"
        case threadID = "thread_id"
        case interruptionLevel = "interruption_level"
        case relevanceScore = "relevance_score"
        case targetContentID = "target_content_id"
        case filterCriteria = "filter_criteria"
        case staleDate = "stale_date"

        static let fields: [CodingKeys] = [
            .alert, .badge, .sound, .contentAvailable, .mutableContent, .category, .threadID, .interruptionLevel,
            .relevanceScore, .targetContentID, .filterCriteria, .staleDate, .aps, .extra,
        ]
    }

    /// Writes the message with its payload, as an object or as the given text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id.description, forKey: .id)
        try container.encode(tokens, forKey: .tokens)
        if case .raw(let bytes) = payload {
            try container.encode(String(decoding: bytes, as: UTF8.self), forKey: .payload)
        } else {
            try container.encode(payload.object(), forKey: .payload)
        }
        try container.encode(pushType, forKey: .pushType)
        try container.encodeIfPresent(priority, forKey: .priority)
        try container.encodeIfPresent(expiration, forKey: .expiration)
        try container.encodeIfPresent(collapseID, forKey: .collapseID)
        try container.encodeIfPresent(topic, forKey: .topic)
    }

    /// Reads a message. A payload together with named fields is an error, and so is a push type that the library does not know if
    /// the message has no topic.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var id = PushID.random()
        if let text = try container.decodeIfPresent(String.self, forKey: .id) {
            guard let given = PushID(text) else {
                throw DecodingError.dataCorruptedError(forKey: .id, in: container, debugDescription: "Not a UUID.")
            }
            id = given
        }
        let pushType = try container.decodeIfPresent(PushType.self, forKey: .pushType) ?? .alert
        let topic = try container.decodeIfPresent(String.self, forKey: .topic)
        if topic == nil, pushType.isCustom, (try? container.decode(String.self, forKey: .pushType)) != nil {
            throw DecodingError.dataCorruptedError(
                forKey: .pushType,
                in: container,
                debugDescription: "The library does not know the push type “\(pushType)”: the message needs a topic."
            )
        }
        try self.init(
            id: id,
            tokens: container.decode([String].self, forKey: .tokens),
            payload: Self.payload(from: container),
            pushType: pushType,
            priority: container.decodeIfPresent(APNs.Priority.self, forKey: .priority),
            expiration: container.decodeIfPresent(Int64.self, forKey: .expiration),
            collapseID: container.decodeIfPresent(String.self, forKey: .collapseID),
            topic: topic
        )
    }

    private static func payload(from container: KeyedDecodingContainer<CodingKeys>) throws -> Payload {
        guard container.contains(.payload) else {
            return try Message(
                tokens: [],
                alert: container.decodeIfPresent(APNs.Alert.self, forKey: .alert),
                badge: container.decodeIfPresent(Int.self, forKey: .badge),
                sound: container.decodeIfPresent(APNs.Sound.self, forKey: .sound),
                contentAvailable: container.decodeIfPresent(Bool.self, forKey: .contentAvailable) ?? false,
                mutableContent: container.decodeIfPresent(Bool.self, forKey: .mutableContent) ?? false,
                category: container.decodeIfPresent(String.self, forKey: .category),
                threadID: container.decodeIfPresent(String.self, forKey: .threadID),
                interruptionLevel: container.decodeIfPresent(APNs.InterruptionLevel.self, forKey: .interruptionLevel),
                relevanceScore: container.decodeIfPresent(Double.self, forKey: .relevanceScore),
                targetContentID: container.decodeIfPresent(String.self, forKey: .targetContentID),
                filterCriteria: container.decodeIfPresent(String.self, forKey: .filterCriteria),
                staleDate: container.decodeIfPresent(Double.self, forKey: .staleDate)
                    .map { Date(timeIntervalSince1970: $0) },
                aps: container.decodeIfPresent([String: APNs.JSON].self, forKey: .aps) ?? [:],
                extra: container.decodeIfPresent([String: APNs.JSON].self, forKey: .extra) ?? [:]
            ).payload
        }
        if let field = CodingKeys.fields.first(where: { container.contains($0) }) {
            throw DecodingError.dataCorruptedError(
                forKey: field,
                in: container,
                debugDescription: "“\(field.stringValue)” and “payload” exclude each other."
            )
        }
        switch try container.decode(APNs.JSON.self, forKey: .payload) {
        case .string(let text): return .raw(Array(text.utf8))
        case .object(let object): return try Payload(object: object)
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .payload,
                in: container,
                debugDescription: "A payload is an object, or its text."
            )
        }
    }
}
