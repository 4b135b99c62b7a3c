extension APNs {
    /// The text of a notification: one text, written as a literal, or several texts with different roles.
    public struct Alert: Hashable, Sendable {
        private var content: TextOrObject

        /// One text, without a title.
        public init(_ text: String) { content = .text(text) }

        /// Several texts.
        ///
        /// - Parameters:
        ///   - title: A short reason for the notification.
        ///   - subtitle: Further information about the reason.
        ///   - body: The content.
        ///   - launchImage: The image that the app shows while it starts, instead of its usual one.
        ///   - actionKey: The key of a translated title for the button that opens the app, for old systems.
        ///   - members: Other members of the object, such as `summary-arg`.
        public init(
            title: Text? = nil,
            subtitle: Text? = nil,
            body: Text? = nil,
            launchImage: String? = nil,
            actionKey: String? = nil,
            members: [String: JSON] = [:]
        ) {
            var members = members
            if let title { TextMembers.title.set(title, in: &members) }
            if let subtitle { TextMembers.subtitle.set(subtitle, in: &members) }
            if let body { TextMembers.body.set(body, in: &members) }
            if let launchImage { members["launch-image"] = .string(launchImage) }
            if let actionKey { members["action-loc-key"] = .string(actionKey) }
            content = .object(members)
        }

        /// The alert of a payload, or nil if it is neither a text nor an object.
        public init?(_ json: JSON) {
            guard let content = TextOrObject(json) else { return nil }
            self.content = content
        }

        /// The alert as it is sent.
        public var json: JSON { content.json }

        /// All members of the object. One text is its `body`.
        public var members: [String: JSON] {
            get { content.members(text: "body") }
            set { content = .object(newValue) }
        }
    }
}

extension APNs.Alert {
    /// A short reason for the notification.
    public var title: Text? {
        get { TextMembers.title.text(in: members) }
        set { TextMembers.title.set(newValue, in: &members) }
    }

    /// Further information about the reason.
    public var subtitle: Text? {
        get { TextMembers.subtitle.text(in: members) }
        set { TextMembers.subtitle.set(newValue, in: &members) }
    }

    /// The content, or the one text.
    public var body: Text? {
        get { TextMembers.body.text(in: members) }
        set { TextMembers.body.set(newValue, in: &members) }
    }

    /// The image that the app shows while it starts, instead of its usual one.
    public var launchImage: String? {
        get { members["launch-image"]?.text }
        set { members["launch-image"] = newValue.map { .string($0) } }
    }

    /// The key of a translated title for the button that opens the app, for old systems.
    public var actionKey: String? {
        get { members["action-loc-key"]?.text }
        set { members["action-loc-key"] = newValue.map { .string($0) } }
    }
}

extension APNs.Alert: ExpressibleByStringInterpolation, ExpressibleByDictionaryLiteral {
    /// One text, without a title.
    public init(stringLiteral value: String) { self.init(value) }

    /// Apple's members of the object. For duplicate names, the last value wins.
    public init(dictionaryLiteral elements: (String, APNs.JSON)...) {
        content = .object([String: APNs.JSON](elements) { _, last in last })
    }
}

extension APNs.Alert: Codable {
    /// Reads a text or an object.
    public init(from decoder: any Decoder) throws { content = try TextOrObject(from: decoder) }

    /// Writes the text or the object.
    public func encode(to encoder: any Encoder) throws { try content.encode(to: encoder) }
}
