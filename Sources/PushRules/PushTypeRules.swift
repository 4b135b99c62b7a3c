/// What Apple asks of the pushes of one type. Library, worker and simulator ask this table, and `carillon.push_types()` has the
/// same rows in SQL: a test compares them.
package struct PushTypeRules: Sendable {
    /// The value of `apns-push-type`.
    package let name: StaticString
    /// What its topics append to the app's bundle identifier.
    package let topicSuffix: StaticString
    package let priorities: Priorities
    /// The priority of pushes that name none; nil: Apple's default, 10.
    package let defaultPriority: UInt8?
    /// The most bytes of a payload.
    package let payloadLimit: Int
    /// The most bytes of `apns-collapse-id`; 0: there is no such field.
    package let collapseIDLimit: Int
    /// Whether `aps` has neither alert nor badge nor sound. Apple does not refuse such a push, and may not deliver it.
    package let isSilent: Bool
    /// Whether `apns-expiration` may not be left out.
    package let needsExpiration: Bool
    /// Whether a client certificate is not enough.
    package let needsProviderToken: Bool

    package init(
        name: StaticString,
        topicSuffix: StaticString = "",
        priorities: Priorities = .any,
        defaultPriority: UInt8? = nil,
        payloadLimit: Int = 4096,
        collapseIDLimit: Int = 64,
        isSilent: Bool = false,
        needsExpiration: Bool = false,
        needsProviderToken: Bool = false
    ) {
        self.name = name
        self.topicSuffix = topicSuffix
        self.priorities = priorities
        self.defaultPriority = defaultPriority
        self.payloadLimit = payloadLimit
        self.collapseIDLimit = collapseIDLimit
        self.isSilent = isSilent
        self.needsExpiration = needsExpiration
        self.needsProviderToken = needsProviderToken
    }

    /// The eleven types of Apple's table, by name.
    package static let all = [
        Self(name: "alert"),
        Self(name: "background", priorities: .five, defaultPriority: 5, isSilent: true),
        Self(name: "complication", topicSuffix: ".complication"),
        Self(name: "controls", topicSuffix: ".push-type.controls"),
        Self(name: "fileprovider", topicSuffix: ".pushkit.fileprovider"),
        Self(name: "liveactivity", topicSuffix: ".push-type.liveactivity", priorities: [.ten, .five]),
        Self(name: "location", topicSuffix: ".location-query", needsProviderToken: true),
        Self(name: "mdm"),
        Self(name: "pushtotalk", topicSuffix: ".voip-ptt"),
        Self(name: "voip", topicSuffix: ".voip", payloadLimit: 5120),
        Self(name: "widgets", topicSuffix: ".push-type.widgets"),
    ]

    /// Pushes to a channel. Their request is another one: its push type is `liveactivity`, and it has no topic.
    package static let channel = Self(
        name: "channel",
        priorities: [.ten, .five],
        payloadLimit: 5120,
        collapseIDLimit: 0,
        needsExpiration: true
    )
}
