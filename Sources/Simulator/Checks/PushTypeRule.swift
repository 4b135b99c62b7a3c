/// What Apple asks of one push type.
struct PushTypeRule: Sendable {
    /// The values of `apns-priority`. A request without the header has 10.
    struct Priorities: OptionSet, Sendable {
        let rawValue: UInt8
        static let ten = Priorities(rawValue: 1)
        static let five = Priorities(rawValue: 2)
        static let one = Priorities(rawValue: 4)
        static let any: Priorities = [.ten, .five, .one]

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init?(_ value: Span<UInt8>) {
            switch value.count {
            case 2 where value.equals("10"): self = .ten
            case 1 where value.equals("5"): self = .five
            case 1 where value.equals("1"): self = .one
            default: return nil
            }
        }
    }

    /// Empty where a request names none.
    var name: StaticString = ""
    var topicSuffix: StaticString = ""
    var priorities = Priorities.any
    var payloadLimit = 4096
    var needsProviderToken = false

    /// All push types, the most frequent first.
    static let all = [
        PushTypeRule(name: "alert"),
        PushTypeRule(name: "background", priorities: .five),
        PushTypeRule(name: "voip", topicSuffix: ".voip", payloadLimit: 5120),
        PushTypeRule(name: "liveactivity", topicSuffix: ".push-type.liveactivity", priorities: [.ten, .five]),
        PushTypeRule(name: "complication", topicSuffix: ".complication"),
        PushTypeRule(name: "controls", topicSuffix: ".push-type.controls"),
        PushTypeRule(name: "fileprovider", topicSuffix: ".pushkit.fileprovider"),
        PushTypeRule(name: "location", topicSuffix: ".location-query", needsProviderToken: true),
        PushTypeRule(name: "mdm"),
        PushTypeRule(name: "pushtotalk", topicSuffix: ".voip-ptt"),
        PushTypeRule(name: "widgets", topicSuffix: ".push-type.widgets"),
    ]
}

extension PushTypeRule {
    /// The rule for a request; nil where it names a push type that does not exist.
    init?(of head: RequestHead, in bytes: Span<UInt8>) {
        guard head.pushType.isPresent else {
            // Older clients leave it out: then any topic goes.
            self.init(payloadLimit: bytes.extracting(head.topic.range).hasSuffix(".voip") ? 5120 : 4096)
            return
        }
        let name = bytes.extracting(head.pushType.range)
        for rule in Self.all where name.equals(rule.name) {
            self = rule
            return
        }
        return nil
    }

    /// The push type whose suffix the topic has; nil where it has none.
    init?(suffixOf topic: Span<UInt8>) {
        for rule in Self.all where rule.topicSuffix.utf8CodeUnitCount > 0 && rule.isSuffix(of: topic) {
            self = rule
            return
        }
        return nil
    }

    private func isSuffix(of topic: Span<UInt8>) -> Bool {
        topic.count > topicSuffix.utf8CodeUnitCount && topic.hasSuffix(topicSuffix)
    }

    /// Why no push of this type goes to the topic, which may have the suffix of this or another type.
    func refusal(of topic: Span<UInt8>, hasSuffix: Bool) -> Refusal? {
        if name.utf8CodeUnitCount == 0 { return nil }
        let fits = topicSuffix.utf8CodeUnitCount == 0 ? !hasSuffix : isSuffix(of: topic)
        if fits { return nil }
        return hasSuffix ? .invalidPushType : .topicDisallowed
    }

    /// The bytes of a topic that name the app: all but the suffix of a push type.
    func app(in topic: Span<UInt8>) -> Range<Int> {
        let rule = name.utf8CodeUnitCount > 0 ? self : PushTypeRule(suffixOf: topic)
        return 0..<topic.count - (rule?.topicSuffix.utf8CodeUnitCount ?? 0)
    }
}
