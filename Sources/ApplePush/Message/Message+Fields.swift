/// The named fields, read back out of the payload, whichever way it came.
extension Message {
    /// What the notification says: a text or an object.
    public var alert: JSON? { self.payload.aps["alert"] }

    /// The number on the app's icon.
    public var badge: Int? {
        if case .integer(let badge) = self.payload.aps["badge"] { Int(badge) } else { nil }
    }

    /// The sound: a name, or the object of a critical alert.
    public var sound: JSON? { self.payload.aps["sound"] }

    /// Whether the app is woken to fetch content.
    public var contentAvailable: Bool { self.payload.aps["content-available"] == 1 }

    /// Whether the app's extension may change the notification.
    public var mutableContent: Bool { self.payload.aps["mutable-content"] == 1 }

    /// The kind of notification, which decides on its buttons.
    public var category: String? { self.text("category") }

    /// The group in which it is shown.
    public var threadID: String? { self.text("thread-id") }

    /// All of the `aps` object.
    public var aps: [String: JSON] { self.payload.aps }

    /// The app's own part of the payload.
    public var extra: [String: JSON] { self.payload.extra }

    /// The payload as it is sent: compact JSON in UTF-8, or the bytes that were given.
    public func payloadBytes() throws(PushError) -> [UInt8] { try self.payload.bytes() }

    private func text(_ name: String) -> String? {
        if case .string(let text) = self.payload.aps[name] { text } else { nil }
    }
}
