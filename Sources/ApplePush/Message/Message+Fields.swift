/// The named fields, read from the payload.
extension APNs.Message {
    /// What the notification says: a text or an object.
    public var alert: APNs.JSON? { payload.aps["alert"] }

    /// The number on the app's icon.
    public var badge: Int? {
        if case .integer(let badge) = payload.aps["badge"] { Int(badge) } else { nil }
    }

    /// The sound: a name, or the object of a critical alert.
    public var sound: APNs.JSON? { payload.aps["sound"] }

    /// Whether the app is woken to fetch content.
    public var contentAvailable: Bool { payload.aps["content-available"] == 1 }

    /// Whether the app's extension may change the notification.
    public var mutableContent: Bool { payload.aps["mutable-content"] == 1 }

    /// The category of notification, which determines its buttons.
    public var category: String? { text("category") }

    /// The group in which it is shown.
    public var threadID: String? { text("thread-id") }

    /// All of the `aps` object.
    public var aps: [String: APNs.JSON] { payload.aps }

    /// The app's own part of the payload.
    public var extra: [String: APNs.JSON] { payload.extra }

    /// The payload as it is sent: compact JSON in UTF-8, or the given bytes.
    public func payloadBytes() throws(PushError) -> [UInt8] { try payload.bytes() }

    private func text(_ name: String) -> String? {
        if case .string(let text) = payload.aps[name] { text } else { nil }
    }
}
