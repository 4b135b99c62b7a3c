public import FoundationEssentials

/// The fields of the payload.
///
/// Setting a field of a payload given as bytes rewrites the payload as compact JSON. If the bytes are not a JSON object, the
/// message can then no longer be sent.
extension APNs.Message {
    /// The text of the notification.
    public var alert: APNs.Alert? {
        get { payload.aps[.alert].flatMap { APNs.Alert($0) } }
        set { payload.set(newValue?.json, as: .alert) }
    }

    /// The number on the app's icon; 0 removes it.
    public var badge: Int? {
        get { if case .integer(let badge) = payload.aps[.badge] { Int(badge) } else { nil } }
        set { payload.set(newValue.map { .integer(Int64($0)) }, as: .badge) }
    }

    /// The sound.
    public var sound: APNs.Sound? {
        get { payload.aps[.sound].flatMap { APNs.Sound($0) } }
        set { payload.set(newValue?.json, as: .sound) }
    }

    /// Whether the app is woken to fetch content.
    public var contentAvailable: Bool {
        get { payload.aps[.contentAvailable] == 1 }
        set { payload.set(newValue ? 1 : nil, as: .contentAvailable) }
    }

    /// Whether the app's extension may change the notification.
    public var mutableContent: Bool {
        get { payload.aps[.mutableContent] == 1 }
        set { payload.set(newValue ? 1 : nil, as: .mutableContent) }
    }

    /// The category of notification, which determines its buttons.
    public var category: String? {
        get { payload.aps[.category]?.text }
        set { payload.set(newValue.map { .string($0) }, as: .category) }
    }

    /// The group in which it is shown.
    public var threadID: String? {
        get { payload.aps[.threadID]?.text }
        set { payload.set(newValue.map { .string($0) }, as: .threadID) }
    }

    /// How much it disturbs.
    public var interruptionLevel: APNs.InterruptionLevel? {
        get { (payload.aps[.interruptionLevel]?.text).map { APNs.InterruptionLevel(rawValue: $0) } }
        set { payload.set((newValue?.rawValue).map { .string($0) }, as: .interruptionLevel) }
    }

    /// Its rank among the app's notifications, from 0 to 1.
    public var relevanceScore: Double? {
        get { payload.aps[.relevanceScore]?.double }
        set { payload.set(newValue.map { .number($0) }, as: .relevanceScore) }
    }

    /// The window of the app that the notification brings to the front.
    public var targetContentID: String? {
        get { payload.aps[.targetContentID]?.text }
        set { payload.set(newValue.map { .string($0) }, as: .targetContentID) }
    }

    /// The criteria that decide whether it is shown in the current Focus.
    public var filterCriteria: String? {
        get { payload.aps[.filterCriteria]?.text }
        set { payload.set(newValue.map { .string($0) }, as: .filterCriteria) }
    }

    /// When a Live Activity becomes outdated, in whole seconds.
    public var staleDate: Date? {
        get { (payload.aps[.staleDate]?.double).map { Date(timeIntervalSince1970: $0) } }
        set { payload.set((newValue?.unixSeconds).map { .integer($0) }, as: .staleDate) }
    }

    /// All of the `aps` object.
    public var aps: [String: APNs.JSON] {
        get { payload.aps }
        set { payload.change { aps, _ in aps = newValue } }
    }

    /// The app's own part of the payload.
    public var extra: [String: APNs.JSON] {
        get { payload.extra }
        set { payload.change { _, extra in extra = newValue } }
    }

    /// When Apple stops trying; nil for Apple's default. An interval counts from the moment it is set.
    public var expiry: APNs.Expiry? {
        get { expiration.map { .at($0) } }
        set { expiration = newValue?.seconds }
    }

    /// The payload as it is sent: compact JSON in UTF-8, or the given bytes.
    public func payloadBytes() throws(PushError) -> [UInt8] { try payload.bytes() }
}
