extension PushType: Codable {
    private enum CodingKeys: String, CodingKey {
        case name
        case topicSuffix = "topic_suffix"
        case payloadLimit = "payload_limit"
        case defaultPriority = "default_priority"
    }

    /// Reads the type from its name, or a custom type from an object. A name that is not Apple's makes a custom type without a
    /// topic suffix.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: CodingKeys.self) {
            try self.init(
                custom: container.decode(String.self, forKey: .name),
                topicSuffix: container.decode(String.self, forKey: .topicSuffix),
                payloadLimit: container.decode(Int.self, forKey: .payloadLimit),
                defaultPriority: container.decodeIfPresent(APNs.Priority.self, forKey: .defaultPriority)
            )
            return
        }
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard name != Self.channel.name, let type = Self(name: name) ?? Self(unknown: name) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "There can be no push type “\(name)”."
            )
        }
        self = type
    }

    /// Writes the type as its name. A custom type is written as an object, so that other processes can read it.
    public func encode(to encoder: any Encoder) throws {
        guard isCustom else {
            var container = encoder.singleValueContainer()
            try container.encode(name)
            return
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(topicSuffix, forKey: .topicSuffix)
        try container.encode(payloadLimit, forKey: .payloadLimit)
        try container.encodeIfPresent(defaultPriority, forKey: .defaultPriority)
    }
}
