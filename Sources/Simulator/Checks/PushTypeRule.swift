/// What Apple asks of one push type: the ending of its topic, its priorities, its room, its credential.
struct PushTypeRule: Sendable {
    /// The values of `apns-priority`.
    struct Priorities: OptionSet, Sendable {
        let rawValue: UInt8
        /// 10, and what a request without the header has.
        static let immediate = Priorities(rawValue: 1)
        /// 5.
        static let considerate = Priorities(rawValue: 2)
        /// 1.
        static let asleep = Priorities(rawValue: 4)
        static let any: Priorities = [.immediate, .considerate, .asleep]

        /// The one priority that a header's value names, or nil.
        init?(_ value: Span<UInt8>) {
            if value.equals("10") {
                self = .immediate
            } else if value.equals("5") {
                self = .considerate
            } else if value.equals("1") {
                self = .asleep
            } else {
                return nil
            }
        }

        init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    let name: StaticString
    let topicSuffix: StaticString
    let priorities: Priorities
    let payloadLimit: Int
    let needsProviderToken: Bool

    private init(
        _ name: StaticString,
        topic suffix: StaticString = "",
        priorities: Priorities = .any,
        payloadLimit: Int = 4096,
        needsProviderToken: Bool = false
    ) {
        self.name = name
        self.topicSuffix = suffix
        self.priorities = priorities
        self.payloadLimit = payloadLimit
        self.needsProviderToken = needsProviderToken
    }

    /// The eleven push types, the commonest first.
    static let all = [
        PushTypeRule("alert"),
        PushTypeRule("background", priorities: .considerate),
        PushTypeRule("voip", topic: ".voip", payloadLimit: 5120),
        PushTypeRule("liveactivity", topic: ".push-type.liveactivity", priorities: [.immediate, .considerate]),
        PushTypeRule("complication", topic: ".complication"),
        PushTypeRule("controls", topic: ".push-type.controls"),
        PushTypeRule("fileprovider", topic: ".pushkit.fileprovider"),
        PushTypeRule("location", topic: ".location-query", needsProviderToken: true),
        PushTypeRule("mdm"),
        PushTypeRule("pushtotalk", topic: ".voip-ptt"),
        PushTypeRule("widgets", topic: ".push-type.widgets"),
    ]

    /// What holds where `apns-push-type` is left out, as older systems may: any topic, and the room of an alert
    /// or, by the ending of the topic, of a call.
    static func unnamed(topic: Span<UInt8>) -> PushTypeRule {
        PushTypeRule("", payloadLimit: topic.hasSuffix(".voip") ? 5120 : 4096)
    }

    /// The rule for a request; nil where it names a push type that there is none of.
    init?(of head: RequestHead, in bytes: Span<UInt8>) {
        guard head.pushType.isPresent else {
            self = .unnamed(topic: bytes.extracting(head.topic.range))
            return
        }
        guard let named = Self.named(bytes.extracting(head.pushType.range)) else { return nil }
        self = named
    }

    static func named(_ name: Span<UInt8>) -> PushTypeRule? {
        for rule in all where name.equals(rule.name) { return rule }
        return nil
    }

    /// Whether a topic ends as some push type has it.
    static func hasEnding(_ topic: Span<UInt8>) -> Bool { withEnding(of: topic) != nil }

    /// The push type whose topics end so.
    static func withEnding(of topic: Span<UInt8>) -> PushTypeRule? {
        for rule in all where !rule.topicSuffix.isEmpty && rule.isEnding(of: topic) { return rule }
        return nil
    }

    private func isEnding(of topic: Span<UInt8>) -> Bool {
        topic.count > topicSuffix.utf8CodeUnitCount && topic.hasSuffix(topicSuffix)
    }

    /// Why no push of this type goes to that topic, which may end as another type has it. Without a type any may.
    func refusal(of topic: Span<UInt8>, hasEnding: Bool) -> Refusal? {
        if name.isEmpty { return nil }
        let fits = topicSuffix.isEmpty ? !hasEnding : isEnding(of: topic)
        if fits { return nil }
        return hasEnding ? .invalidPushType : .topicDisallowed
    }

    /// Which bytes of a topic name the app: all but the ending that some push type has.
    func app(in topic: Span<UInt8>) -> Range<Int> {
        if !name.isEmpty { return 0..<topic.count - topicSuffix.utf8CodeUnitCount }
        for rule in Self.all where !rule.topicSuffix.isEmpty && topic.hasSuffix(rule.topicSuffix) {
            return 0..<topic.count - rule.topicSuffix.utf8CodeUnitCount
        }
        return 0..<topic.count
    }
}

extension StaticString {
    fileprivate var isEmpty: Bool { utf8CodeUnitCount == 0 }
}
