/// Apple's rules for pushes of one type. The library, the worker and the simulator use this table. `make docs` makes from it the
/// members of `PushType`, the rows of `carillon.push_types()` in SQL, and the table in docs/enqueue.md. A type that is not in it is
/// sent too, without checks: see `unknown`.
package struct PushTypeRules: Sendable {
    /// The value of `apns-push-type`.
    package let name: StaticString
    /// The name of the member of `PushType`.
    package let member: StaticString
    /// What such pushes are, as a sentence.
    package let meaning: StaticString
    /// The suffix that its topics append to the app's bundle ID.
    package let topicSuffix: StaticString
    /// The kind of the tokens of such pushes; nil if they have none.
    package let tokenKind: StaticString?
    /// The kind of the tokens that starts are sent to, if it is another: pushes whose payload has the event `start`.
    package let startKind: StaticString?
    package let priorities: Priorities
    /// The priority of pushes that do not set one; nil for Apple's default, 10.
    package let defaultPriority: UInt8?
    /// The largest payload, in bytes.
    package let payloadLimit: Int
    /// The longest `apns-collapse-id`, in bytes; 0 if the type has no such field.
    package let collapseIDLimit: Int
    /// Whether a push replaces what an earlier one to the same token has shown, so that an older one must never arrive after a newer
    /// one.
    package let isUpdate: Bool
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
        to tokenKind: StaticString? = "device",
        start startKind: StaticString? = nil,
        priorities: Priorities = .any,
        defaultPriority: UInt8? = nil,
        payloadLimit: Int = 4096,
        collapseIDLimit: Int = 64,
        isUpdate: Bool = false,
        isSilent: Bool = false,
        needsExpiration: Bool = false,
        needsProviderToken: Bool = false
    ) {
        self.name = name
        self.member = member ?? name
        self.meaning = meaning
        self.topicSuffix = topicSuffix
        self.tokenKind = tokenKind
        self.startKind = startKind
        self.priorities = priorities
        self.defaultPriority = defaultPriority
        self.payloadLimit = payloadLimit
        self.collapseIDLimit = collapseIDLimit
        self.isUpdate = isUpdate
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
            to: "complication"
        ),
        Self("controls", "A new state of a control (iOS 18).", topicSuffix: ".push-type.controls", to: "control"),
        Self(
            "fileprovider",
            as: "fileProvider",
            "A change in a file provider's domain.",
            topicSuffix: ".pushkit.fileprovider",
            to: "file_provider"
        ),
        Self(
            "liveactivity",
            as: "liveActivity",
            "The start, an update or the end of a Live Activity.",
            topicSuffix: ".push-type.liveactivity",
            to: "live_activity",
            start: "push_to_start",
            priorities: [.ten, .five],
            isUpdate: true
        ),
        Self(
            "location",
            "A request for the device's location; provider tokens only.",
            topicSuffix: ".location-query",
            to: "location",
            needsProviderToken: true
        ),
        Self("mdm", "A request to a managed device to contact its server.", to: "mdm"),
        Self(
            "nowplaying",
            as: "nowPlaying",
            "The start, an update or the end of a remote media session (iOS 27).",
            topicSuffix: ".push-type.nowplaying",
            to: "media_session",
            start: "media_start",
            isUpdate: true
        ),
        Self(
            "pushtotalk",
            as: "pushToTalk",
            "An invitation to a Push to Talk channel.",
            topicSuffix: ".voip-ptt",
            to: "push_to_talk"
        ),
        Self("voip", "An incoming call.", topicSuffix: ".voip", to: "voip", payloadLimit: 5120),
        Self("widgets", "A change of what a widget shows.", topicSuffix: ".push-type.widgets", to: "widget"),
    ]

    /// Pushes to a channel. Their requests have the push type `liveactivity` and no topic.
    package static let channel = Self(
        "channel",
        "An update of the Live Activities that follow a channel.",
        to: nil,
        payloadLimit: 5120,
        collapseIDLimit: 0,
        isUpdate: true,
        needsExpiration: true
    )

    /// Pushes of a type that is not in the table. Nothing is known of it, so the limits are those of Apple's service or, for the
    /// payload, of a claim.
    package static let unknown = Self("", "A type that Apple has added since.", to: nil, payloadLimit: 8192)

    /// Whether a type may have this name: 1 to 64 lower-case letters, digits and hyphens, so that any header can contain it.
    package static func isName(_ name: Span<UInt8>) -> Bool {
        guard (1...64).contains(name.count) else { return false }
        for index in 0..<name.count where !mayNameHave(name[index]) { return false }
        return true
    }

    static func mayNameHave(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
