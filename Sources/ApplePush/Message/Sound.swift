extension APNs {
    /// The sound of a notification: a name, written as a literal, or the sound of a critical alert.
    public struct Sound: Hashable, Sendable {
        private var content: TextOrObject

        /// The system's sound.
        public static let `default` = Self.named("default")

        /// A sound file of the app, such as `bingbong.aiff`.
        public static func named(_ name: String) -> Self { Self(content: .text(name)) }

        /// The sound of a critical alert, which is heard even when the device is muted. The app needs Apple's entitlement.
        ///
        /// - Parameters:
        ///   - name: A sound file of the app.
        ///   - volume: From 0 to 1, the full volume.
        public static func critical(name: String = "default", volume: Double = 1) -> Self {
            ["critical": 1, "name": .string(name), "volume": .number(volume)]
        }

        private init(content: TextOrObject) { self.content = content }

        /// The sound of a payload, or nil if it is neither a text nor an object.
        public init?(_ json: JSON) {
            guard let content = TextOrObject(json) else { return nil }
            self.content = content
        }

        /// The sound as it is sent.
        public var json: JSON { content.json }

        /// All members of the object. A text is its `name`.
        public var members: [String: JSON] {
            get { content.members(text: "name") }
            set { content = .object(newValue) }
        }

        /// The name of the sound.
        public var name: String? { members["name"]?.text }

        /// Whether it is the sound of a critical alert.
        public var isCritical: Bool { [1, true].contains(members["critical"]) }

        /// The volume of a critical alert, from 0 to 1.
        public var volume: Double? { members["volume"]?.double }
    }
}

extension APNs.Sound: ExpressibleByStringInterpolation, ExpressibleByDictionaryLiteral {
    /// A sound file of the app, or `default`.
    public init(stringLiteral value: String) { self = .named(value) }

    /// Apple's members of the object. For duplicate names, the last value wins.
    public init(dictionaryLiteral elements: (String, APNs.JSON)...) {
        content = .object([String: APNs.JSON](elements) { _, last in last })
    }
}

extension APNs.Sound: Codable {
    /// Reads a text or an object.
    public init(from decoder: any Decoder) throws { content = try TextOrObject(from: decoder) }

    /// Writes the text or the object.
    public func encode(to encoder: any Encoder) throws { try content.encode(to: encoder) }
}
