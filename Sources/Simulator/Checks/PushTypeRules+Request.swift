import CarillonPushRules

extension PushTypeRules.Priorities {
    /// Reads the header field; nil if Apple has no such priority.
    init?(field value: Span<UInt8>) {
        switch value.count {
        case 2 where value.equals("10"): self = .ten
        case 1 where value.equals("5"): self = .five
        case 1 where value.equals("1"): self = .one
        default: return nil
        }
    }
}

extension PushTypeRules {
    /// The rules for a request; nil if it names a push type that is not in the table.
    init?(of head: RequestHead, in bytes: Span<UInt8>) {
        guard head.pushType.isPresent else {
            // Older clients omit the field; then any topic is allowed.
            let owner = PushTypeRules(suffixOf: bytes.extracting(head.topic.range))
            self.init("", "", payloadLimit: (owner ?? Self.all[0]).payloadLimit)
            return
        }
        let name = bytes.extracting(head.pushType.range)
        for rule in Self.all where name.equals(rule.name) {
            self = rule
            return
        }
        return nil
    }

    /// The push type whose suffix the topic has; nil if it has none.
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

    /// The refusal if no push of this type may go to the topic, which may have the suffix of this or another type.
    func refusal(of topic: Span<UInt8>, hasSuffix: Bool) -> APNsRefusal? {
        if name.utf8CodeUnitCount == 0 { return nil }
        let fits = topicSuffix.utf8CodeUnitCount == 0 ? !hasSuffix : isSuffix(of: topic)
        if fits { return nil }
        return hasSuffix ? .invalidPushType : .topicDisallowed
    }

    /// The bytes of a topic that name the app: all but the suffix of a push type.
    func app(in topic: Span<UInt8>) -> Range<Int> {
        guard let rule = name.utf8CodeUnitCount > 0 ? self : PushTypeRules(suffixOf: topic) else {
            // Most suffixes of new types begin like this.
            let end = topic.indices.first { topic.extracting($0...).hasPrefix(".push-type.") }
            return 0..<(end ?? topic.count)
        }
        return 0..<topic.count - rule.topicSuffix.utf8CodeUnitCount
    }
}
