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

    /// The type's index in the table; beyond the table, in the custom types.
    let index: UInt8

    private init(_ index: UInt8) { self.index = index }

    /// The type with this name, which must be in the table.
    static func known(_ name: String) -> Self {
        guard let type = Self(stored: name) else { preconditionFailure("the table has no push type \(name)") }
        return type
    }

    init(custom place: Int) { index = UInt8(Self.table.count + place) }

    /// The type with this name; nil if it is not one of Apple's.
    public init?(name: String) {
        guard let type = Self(stored: name), type != .channel else { return nil }
        self = type
    }

    /// The same for a name stored in the queue, which may also be the one for pushes to channels.
    package init?(stored name: String) {
        guard let index = Self.table.firstIndex(where: { $0.name == name }) else { return nil }
        self.index = UInt8(index)
    }

    /// An update of the Live Activities that follow a channel. Its token is `ChannelID.hexadecimal`, its topic the bundle
    /// identifier; the request is another one, of the push type `liveactivity`.
    package static let channel = known("channel")

    /// Apple's types.
    public static var all: [Self] { table.indices.map { Self(UInt8($0)) }.filter { $0 != channel } }

    /// The value of the header.
    public var name: String { row.name }

    /// The suffix that the topic of such a push appends to the app's bundle ID.
    public var topicSuffix: String { row.suffix }

    /// The largest payload that APNs accepts, in bytes.
    public var payloadLimit: Int { rules?.payloadLimit ?? row.payloadLimit }

    /// The priority of messages that do not set one; nil for Apple's default, 10, which Apple refuses for `background`.
    public var defaultPriority: APNs.Priority? {
        guard let rules else { return row.priority }
        return rules.defaultPriority.map { APNs.Priority(rawValue: $0) }
    }

    /// Whether the type is not one of Apple's.
    public var isCustom: Bool { index >= Self.table.count }

    /// The name.
    public var description: String { name }

    /// Apple's rules for such pushes; nil for custom types.
    var rules: PushTypeRules? { isCustom ? nil : Self.appleRules[Int(index)] }

    /// Whether such a push may have this value of `apns-priority`.
    package func allows(priority: Int16) -> Bool {
        guard let rules else { return true }
        return PushTypeRules.Priorities(Int(priority)).map(rules.priorities.contains) ?? false
    }

    /// The longest collapse identifier, in bytes; 0 if such a push has none.
    package var collapseIDLimit: Int { rules?.collapseIDLimit ?? 64 }

    var row: Facts { isCustom ? CustomPushTypes[Int(index) - Self.table.count] : Self.table[Int(index)] }
}
