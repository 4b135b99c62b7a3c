import CarillonPushRules

/// The type of a push: the value of the header `apns-push-type`.
public struct PushType: Hashable, Sendable, CustomStringConvertible {
    /// Apple's name for a type, the suffix of its topics, its largest payload in bytes, and its default priority.
    struct Facts: Hashable, Sendable {
        let name: String
        let suffix: String
        let payloadLimit: Int
        var priority: APNs.Priority?
    }

    private enum Form: Hashable, Sendable {
        /// A row of the table.
        case known(UInt8)
        indirect case custom(Facts)
    }

    /// The types of Apple's table, and one for pushes to channels, which exists only in this package.
    private static let appleRules = PushTypeRules.all + [.channel]

    static let table = appleRules.map { rules in
        Facts(
            name: rules.name.description,
            suffix: rules.topicSuffix.description,
            payloadLimit: rules.payloadLimit,
            priority: rules.defaultPriority.map { APNs.Priority(rawValue: $0) }
        )
    }

    private let form: Form

    private init(_ index: Int) { form = .known(UInt8(index)) }

    /// The type with this name, which must be in the table.
    static func known(_ name: String) -> Self {
        guard let type = Self(stored: name) else { preconditionFailure("the table has no push type \(name)") }
        return type
    }

    init(custom facts: Facts) { form = .custom(facts) }

    /// The type with this name; nil if it is not one of Apple's that the library knows.
    public init?(name: String) {
        guard let type = Self(stored: name), type != .channel else { return nil }
        self = type
    }

    /// The same for a name stored in the queue, which may also be the one for pushes to channels.
    package init?(stored name: String) {
        guard let index = Self.table.firstIndex(where: { $0.name == name }) else { return nil }
        self.init(index)
    }

    /// A type that is not in the table, of which only the name is known; nil if no type can have the name.
    package init?(unknown name: String) {
        guard PushTypeRules.isName(Array(name.utf8).span) else { return nil }
        self.init(custom: Facts(name: name, suffix: "", payloadLimit: PushTypeRules.unknown.payloadLimit))
    }

    /// An update of the Live Activities that follow a channel. Its token is `ChannelID.hexadecimal`, its topic the bundle
    /// identifier; the request is another one, of the push type `liveactivity`.
    package static let channel = known("channel")

    /// Apple's types.
    public static var all: [Self] { table.indices.map { Self($0) }.filter { $0 != channel } }

    /// The value of the header.
    public var name: String { facts.name }

    /// The suffix that the topic of such a push appends to the app's bundle ID.
    public var topicSuffix: String { facts.suffix }

    /// The largest payload that APNs accepts, in bytes.
    public var payloadLimit: Int { rules?.payloadLimit ?? facts.payloadLimit }

    /// The priority of messages that do not set one; nil for Apple's default, 10, which Apple refuses for `background`.
    public var defaultPriority: APNs.Priority? {
        guard let rules else { return facts.priority }
        return rules.defaultPriority.map { APNs.Priority(rawValue: $0) }
    }

    /// Whether the type is not one of Apple's that the library knows.
    public var isCustom: Bool { rules == nil }

    /// The name.
    public var description: String { name }

    /// Apple's rules for such pushes; nil for custom types.
    var rules: PushTypeRules? {
        if case .known(let index) = form { Self.appleRules[Int(index)] } else { nil }
    }

    /// Whether such a push may have this value of `apns-priority`.
    package func allows(priority: Int16) -> Bool {
        guard let priority = PushTypeRules.Priorities(Int(priority)) else { return false }
        return rules?.priorities.contains(priority) ?? true
    }

    /// The longest collapse identifier, in bytes; 0 if such a push has none.
    package var collapseIDLimit: Int { (rules ?? .unknown).collapseIDLimit }

    /// Whether such a push replaces what an earlier one to the same token has shown, so that an older one must never arrive after a
    /// newer one.
    package var isUpdate: Bool { rules?.isUpdate ?? false }

    private var facts: Facts {
        switch form {
        case .known(let index): Self.table[Int(index)]
        case .custom(let facts): facts
        }
    }
}
