extension Verdict {
    /// What is wrong with just this request, for the log, where its reason may have several causes; nil where the reason's
    /// own detail says it all.
    func culprit(
        of head: RequestHead,
        in bytes: Span<UInt8>,
        _ payload: Span<UInt8>,
        _ credential: ClientCredential
    ) -> String? {
        guard case .refused(let refusal) = self else { return nil }
        switch refusal {
        case .duplicateHeaders: return head.duplicate.map { "\($0) came more than once." }
        case .payloadEmpty: return Self.fault(of: payload)
        case .invalidPushType, .topicDisallowed:
            guard let rule = PushTypeRule(of: head, in: bytes) else { return Self.unknownPushType }
            if head.topic.isPresent { return Self.fault(of: bytes.extracting(head.topic.range), rule, credential) }
            return credential.onlyTopic.map { Self.fault(of: $0.span, rule, credential) }
        default: return nil
        }
    }

    private static var unknownPushType: String {
        "apns-push-type is none of \(PushTypeRule.all.map(\.name.description).joined(separator: ", "))."
    }

    private static func fault(
        of topic: Span<UInt8>,
        _ rule: PushTypeRule,
        _ credential: ClientCredential
    ) -> String {
        let owner = PushTypeRule.withEnding(of: topic)
        switch rule.refusal(of: topic, hasEnding: owner != nil) {
        case .invalidPushType?:
            let ending = owner.map { "ends in \($0.topicSuffix), as \($0.name) has it" } ?? "is another's"
            return "The topic \(ending), and apns-push-type is \(rule.name)."
        case .some:
            return "A push of the type \(rule.name) needs a topic that is the bundle ID and then \(rule.topicSuffix)."
        case nil: break
        }
        guard case .certificate(let certificate) = credential else {
            return "--allow-topic does not name the app of the topic."
        }
        if certificate.allows(topic) {
            return "A push of the type \(rule.name) needs a provider token, not a client certificate."
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
        let subject = "The body is no JSON object: it"
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
        let digits = String(byte, radix: 16, uppercase: true)
        return "0x" + (byte < 16 ? "0" : "") + digits
    }
}
