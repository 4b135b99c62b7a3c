/// Apple's rules for pushes of one type. The library, the worker and the simulator use this table. `make docs` makes from it the
/// members of `PushType`, the rows of `carillon.push_types()` in SQL, and the table in docs/enqueue.md.
package struct PushTypeRules: Sendable {
    /// The value of `apns-push-type`.
    package let name: StaticString
    /// The name of the member of `PushType`.
    package let member: StaticString
    /// What such pushes are, as a sentence.
    package let meaning: StaticString
    /// The suffix that its topics append to the app's bundle ID.
    package let topicSuffix: StaticString
    /// What the tokens of such pushes are for; nil if they have none. The start of a Live Activity has a kind of its own.
    package let tokenKind: TokenKind?
    package let priorities: Priorities
    /// The priority of pushes that do not set one; nil for Apple's default, 10.
    package let defaultPriority: UInt8?
    /// The largest payload, in bytes.
    package let payloadLimit: Int
    /// The longest `apns-collapse-id`, in bytes; 0 if the type has no such field.
    package let collapseIDLimit: Int
    /// Whether `aps` must have no alert, badge or sound. Apple accepts a push that has one, but may not deliver it.
    package let isSilent: Bool
    /// Whether `apns-expiration` is required.
    package let needsExpiration: Bool
    /// Whether a provider token is required: a client certificate is not enough.
    package let needsProviderToken: Bool

    package init(
        _ name: StaticString,
        as member: StaticString? = nil,
        _ meaning: StaticString,
        topicSuffix: StaticString = "",
        to tokenKind: TokenKind? = .device,
        priorities: Priorities = .any,
        defaultPriority: UInt8? = nil,
        payloadLimit: Int = 4096,
        collapseIDLimit: Int = 64,
        isSilent: Bool = false,
        needsExpiration: Bool = false,
        needsProviderToken: Bool = false
    ) {
        self.name = name
        self.member = member ?? name
        self.meaning = meaning
        self.topicSuffix = topicSuffix
        self.tokenKind = tokenKind
        self.priorities = priorities
        self.defaultPriority = defaultPriority
        self.payloadLimit = payloadLimit
        self.collapseIDLimit = collapseIDLimit
        self.isSilent = isSilent
        self.needsExpiration = needsExpiration
        self.needsProviderToken = needsProviderToken
    }

    /// The types of Apple's table, by name.
    package static let all = [
        Self("alert", "A notification that the user sees or hears."),
        Self(
            "background",
            "Content for the app, without a notification; priority 5 only.",
            priorities: .five,
            defaultPriority: 5,
            isSilent: true
        ),
        Self(
            "complication",
            "An update of a watch face's complication.",
            topicSuffix: ".complication",
            to: .complication
        ),
        Self("controls", "A new state of a control (iOS 18).", topicSuffix: ".push-type.controls", to: .control),
        Self(
            "fileprovider",
            as: "fileProvider",
            "A change in a file provider's domain.",
            topicSuffix: ".pushkit.fileprovider",
            to: .fileProvider
        ),
        Self(
            "liveactivity",
            as: "liveActivity",
            "The start, an update or the end of a Live Activity.",
            topicSuffix: ".push-type.liveactivity",
            to: .liveActivity,
            priorities: [.ten, .five]
        ),
        Self(
            "location",
            "A request for the device's location; provider tokens only.",
            topicSuffix: ".location-query",
            to: .location,
            needsProviderToken: true
        ),
        Self("mdm", "A request to a managed device to contact its server.", to: .mdm),
        Self(
            "pushtotalk",
            as: "pushToTalk",
            "An invitation to a Push to Talk channel.",
            topicSuffix: ".voip-ptt",
            to: .pushToTalk
        ),
        Self("voip", "An incoming call.", topicSuffix: ".voip", to: .voip, payloadLimit: 5120),
        Self("widgets", "A change of what a widget shows.", topicSuffix: ".push-type.widgets", to: .widget),
    ]

    /// Pushes to a channel. Their requests have the push type `liveactivity` and no topic.
    package static let channel = Self(
        "channel",
        "An update of the Live Activities that follow a channel.",
        to: nil,
        priorities: [.ten, .five],
        payloadLimit: 5120,
        collapseIDLimit: 0,
        needsExpiration: true
    )
}
