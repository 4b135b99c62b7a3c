/// Judges the form of a request as APNs does; knows nothing of connections, time or keys.
struct RequestCheck {
    /// The path of a push, up to the token.
    static let pathPrefix: StaticString = "/3/device/"

    /// The bundle identifiers that provider tokens may push to; empty: any.
    private let topics: [[UInt8]]
    private var json = JSONObjectCheck()
    /// The last payload found good: one payload for many tokens is walked once.
    private var goodPayload: [UInt8] = []
    /// The last good topic without the ending of a push type: most requests name it, and it is walked once.
    private var plainTopic: [UInt8] = []

    init(topics: [String]) {
        self.topics = topics.map { Array($0.utf8) }
    }

    /// What can be said before the credential is looked at.
    func refusalOfRoute(_ head: RequestHead, in bytes: Span<UInt8>) -> Refusal? {
        if head.duplicate != nil { return .duplicateHeaders }
        guard bytes.extracting(head.method.range).equals("POST") else { return .methodNotAllowed }
        let path = bytes.extracting(head.path.range)
        if path.hasPrefix(Self.pathPrefix) {
            return path.count == Self.pathPrefix.utf8CodeUnitCount ? .missingDeviceToken : nil
        }
        return path.equals("/3/device") ? .missingDeviceToken : .badPath
    }

    /// Where the token lies in the path of a push; nowhere in any other path.
    static func token(of head: RequestHead, in bytes: Span<UInt8>) -> Range<Int> {
        guard bytes.extracting(head.path.range).hasPrefix(pathPrefix) else { return 0..<0 }
        return head.path.range.dropFirst(pathPrefix.utf8CodeUnitCount)
    }

    /// What can be said of headers, topic, payload and token, once the credential is good.
    mutating func refusalOfContent(
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        credential: ClientCredential
    ) -> Refusal? {
        if head.id.isPresent, !HeaderForm.isCanonicalUUID(bytes.extracting(head.id.range)) { return .badMessageID }
        if head.expiration.isPresent, !HeaderForm.isExpiration(bytes.extracting(head.expiration.range)) {
            return .badExpirationDate
        }
        if head.collapseID.isPresent, !HeaderForm.isCollapseID(bytes.extracting(head.collapseID.range)) {
            return .badCollapseID
        }
        guard let rule = PushTypeRule(of: head, in: bytes) else { return .invalidPushType }
        let topic = bytes.extracting(head.topic.range)
        if head.priority.isPresent {
            guard let priority = PushTypeRule.Priorities(bytes.extracting(head.priority.range)),
                rule.priorities.contains(priority)
            else { return .badPriority }
        } else if !rule.priorities.contains(.immediate) {
            return .badDefaultPriority
        }
        if let refusal = refusalOfTopic(topic, isPresent: head.topic.isPresent, rule: rule, credential: credential) {
            return refusal
        }
        if let refusal = refusalOfPayload(payload, limit: rule.payloadLimit) { return refusal }
        return HeaderForm.isDeviceToken(bytes.extracting(Self.token(of: head, in: bytes))) ? nil : .badDeviceToken
    }

    private mutating func refusalOfTopic(
        _ topic: Span<UInt8>,
        isPresent: Bool,
        rule: PushTypeRule,
        credential: ClientCredential
    ) -> Refusal? {
        guard isPresent else {
            // A certificate of one topic means that one; anybody else must say which.
            guard case .certificate(let certificate) = credential, certificate.topics.count == 1 else {
                return .missingTopic
            }
            let only = certificate.topics[0]
            return rule.refusal(of: only.span, hasEnding: PushTypeRule.hasEnding(only.span))
        }
        var hasEnding = false
        if topic.isEmpty || !topic.equals(plainTopic.span) {
            guard HeaderForm.isTopic(topic) else { return .badTopic }
            hasEnding = PushTypeRule.hasEnding(topic)
            if !hasEnding {
                plainTopic.removeAll(keepingCapacity: true)
                plainTopic.append(topic)
            }
        }
        if let refusal = rule.refusal(of: topic, hasEnding: hasEnding) { return refusal }
        switch credential {
        case .certificate(let certificate):
            return certificate.allows(topic) && !rule.needsProviderToken ? nil : .topicDisallowed
        case .providerToken:
            if topics.isEmpty { return nil }
            let app = topic.extracting(rule.app(in: topic))
            for known in topics where app.equals(known.span) { return nil }
            return .topicDisallowed
        }
    }

    /// Apple has no reason of its own for a body that is no JSON object: it counts as empty.
    private mutating func refusalOfPayload(_ payload: Span<UInt8>, limit: Int) -> Refusal? {
        if payload.isEmpty { return .payloadEmpty }
        if payload.count > limit { return .payloadTooLarge }
        if payload.equals(goodPayload.span) { return nil }
        guard json.accepts(payload) else { return .payloadEmpty }
        goodPayload.removeAll(keepingCapacity: true)
        payload.withUnsafeBytes { goodPayload.append(contentsOf: $0) }
        return nil
    }
}
