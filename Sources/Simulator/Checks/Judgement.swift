import CarillonPushRules

/// The simulator's decision on one request.
enum Judgement: Sendable, Equatable {
    case accepted
    /// A good push to a channel.
    case broadcast
    /// The channel service has carried out the request.
    case managed(ChannelAnswer)
    case refused(APNsRefusal)
    /// The rule with this index applies.
    case ruled(Int)

    /// What exactly is wrong with this request, for the log, if its refusal covers several causes; nil if the refusal's own detail
    /// is enough.
    func cause(
        of head: RequestHead,
        in bytes: Span<UInt8>,
        _ payload: Span<UInt8>,
        _ credential: ClientCredential
    ) -> String? {
        guard case .refused(let refusal) = self else { return nil }
        switch refusal {
        case .duplicateHeaders: return head.duplicate.map { "\($0) came more than once." }
        case .payloadEmpty, .badRequestPayload: return Self.fault(of: payload)
        case .invalidPushType, .topicDisallowed:
            guard let rules = PushTypeRules(of: head, in: bytes) else {
                // With --allow-unknown-types, the topic is what is wrong.
                guard refusal == .invalidPushType else { return nil }
                return
                    "apns-push-type is not one of \(PushTypeRules.all.map(\.name.description).joined(separator: ", "))."
            }
            if head.topic.isPresent { return Self.fault(of: bytes.extracting(head.topic.range), rules, credential) }
            return credential.onlyTopic.map { Self.fault(of: $0.span, rules, credential) }
        case .badPriority, .badDefaultPriority:
            return PushTypeRules(of: head, in: bytes).map { rules in
                let given =
                    head.priority.isPresent
                    ? "it is \(bytes.extracting(head.priority.range).text)." : "a missing one counts as 10."
                return "apns-priority of \(rules.subject) is \(rules.priorities.text); \(given)"
            }
        case .badCollapseID:
            let limit = (PushTypeRules(of: head, in: bytes) ?? PushTypeRules.all[0]).collapseIDLimit
            return "apns-collapse-id has 1 to \(limit) bytes; it has \(head.collapseID.range.count)."
        case .payloadTooLarge:
            return PushTypeRules(of: head, in: bytes).map { rules in
                "The body is longer than the \(rules.payloadLimit) bytes that \(rules.subject) may have."
            }
        default: return nil
        }
    }

    private static func fault(of topic: Span<UInt8>, _ rules: PushTypeRules, _ credential: ClientCredential) -> String {
        let owner = PushTypeRules(suffixOf: topic)
        if rules.refusal(of: topic, hasSuffix: owner != nil) != nil {
            guard let owner else {
                return
                    "The push type \(rules.name) needs a topic that is the bundle ID followed by \(rules.topicSuffix)."
            }
            return "The topic has \(owner.topicSuffix), the suffix of \(owner.name); apns-push-type is \(rules.name)."
        }
        guard case .certificate(let certificate) = credential else {
            return "--allow-topic does not name the app of the topic."
        }
        if certificate.allows(topic) {
            return "The push type \(rules.name) needs a provider token in place of a client certificate."
        }
        let names = certificate.topics.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
        return "The client certificate does not name the topic: it names \(names)."
    }

    private static func fault(of payload: Span<UInt8>) -> String? {
        if payload.isEmpty { return "The body is empty." }
        if payload.count >= 3, payload[0] == 0xEF, payload[1] == 0xBB, payload[2] == 0xBF {
            return "The body begins with a byte order mark (EF BB BF), which JSON does not have."
        }
        var check = JSONObjectCheck()
        guard let offset = check.faultOffset(in: payload) else { return nil }
        let subject = "The body is not a JSON object: it"
        if offset >= payload.count { return "\(subject) ends after \(payload.count) bytes, before the object does." }
        var before = offset
        while before > 0, " \t\r\n".utf8.contains(payload[before - 1]) { before -= 1 }
        let byte = name(of: payload[offset])
        if before == 0 { return "\(subject) begins with \(byte)." }
        let isAfterComma = payload[before - 1] == UInt8(ascii: ",")
        return "\(subject) has \(byte) at offset \(offset)\(isAfterComma ? ", after a comma" : "")."
    }

    private static func name(of byte: UInt8) -> String {
        if (0x21..<0x7F).contains(byte) { return "\"\(Character(Unicode.Scalar(byte)))\"" }
        return (byte < 16 ? "0x0" : "0x") + String(byte, radix: 16, uppercase: true)
    }
}

extension PushTypeRules {
    /// The pushes that these rules are for, in words.
    fileprivate var subject: String {
        name.utf8CodeUnitCount == 0 ? "a push without apns-push-type" : "a push of the type \(name)"
    }
}
