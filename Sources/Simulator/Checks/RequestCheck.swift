import CarillonPushRules
import CarillonText

/// Checks the form of a request as APNs does, independently of connections, time and keys.
struct RequestCheck {
    /// How the topics of certificates for device management begin. Apple makes them up: they are no bundle IDs.
    private static let managementPrefix: StaticString = "com.apple.mgmt."

    /// The bundle IDs that provider tokens may push to, in the order of their addition; empty for any.
    private(set) var topics: [[UInt8]]
    private let allowsUnknownTypes: Bool
    private var json = JSONObjectCheck()
    /// The last good payload, so that one payload for many device tokens is parsed only once.
    private var goodPayload: [UInt8] = []
    /// The last good topic without a push type's suffix, so that a topic shared by most requests is checked only once.
    private var plainTopic: [UInt8] = []

    init(topics: [String], allowsUnknownTypes: Bool = false) {
        self.topics = topics.map { Array($0.utf8) }
        self.allowsUnknownTypes = allowsUnknownTypes
    }

    mutating func allow(_ topic: String) {
        let topic = Array(topic.utf8)
        if !topics.isEmpty, !topics.contains(topic) { topics.append(topic) }
    }

    /// The refusal before the credential is checked, if any.
    func refusalOfRoute(_ head: RequestHead, in bytes: Span<UInt8>) -> APNsRefusal? {
        if head.duplicate != nil { return .duplicateHeaders }
        guard bytes.extracting(head.method.range).equals("POST") else { return .methodNotAllowed }
        let path = bytes.extracting(head.path.range)
        if path.hasPrefix(RequestHead.pathPrefix) {
            return path.count == RequestHead.pathPrefix.utf8CodeUnitCount ? .missingDeviceToken : nil
        }
        return path.equals("/3/device") ? .missingDeviceToken : .badPath
    }

    /// The refusal for fields, topic, payload and device token, once the credential is good.
    mutating func refusalOfContent(
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        credential: ClientCredential,
        bound: BoundTopics
    ) -> APNsRefusal? {
        if head.id.isPresent, !HeaderForm.isCanonicalUUID(bytes.extracting(head.id.range)) { return .badMessageID }
        if head.expiration.isPresent, !HeaderForm.isExpiration(bytes.extracting(head.expiration.range)) {
            return .badExpirationDate
        }
        let rules = PushTypeRules(of: head, in: bytes)
        if head.collapseID.isPresent,
            !(1...(rules ?? PushTypeRules.all[0]).collapseIDLimit).contains(head.collapseID.range.count)
        {
            return .badCollapseID
        }
        guard let rules = rules ?? unknownType(of: head, in: bytes) else { return .invalidPushType }
        if head.priority.isPresent {
            guard let priority = PushTypeRules.Priorities(field: bytes.extracting(head.priority.range)),
                rules.priorities.contains(priority)
            else { return .badPriority }
        } else if !rules.priorities.contains(.ten) {
            return .badDefaultPriority
        }
        if let refusal = refusalOfTopic(head.topic, in: bytes, rules: rules, credential: credential, bound: bound) {
            return refusal
        }
        if let refusal = refusalOfPayload(payload, limit: rules.payloadLimit) { return refusal }
        return HeaderForm.isDeviceToken(bytes.extracting(head.deviceToken(in: bytes))) ? nil : .badDeviceToken
    }

    private func unknownType(of head: RequestHead, in bytes: Span<UInt8>) -> PushTypeRules? {
        allowsUnknownTypes && PushTypeRules.isName(bytes.extracting(head.pushType.range)) ? .unknown : nil
    }

    private mutating func refusalOfTopic(
        _ part: RequestHead.Part,
        in bytes: Span<UInt8>,
        rules: PushTypeRules,
        credential: ClientCredential,
        bound: BoundTopics
    ) -> APNsRefusal? {
        guard part.isPresent else {
            guard let only = credential.onlyTopic else { return .missingTopic }
            return rules.refusal(of: only.span, hasSuffix: PushTypeRules(suffixOf: only.span) != nil)
        }
        let topic = bytes.extracting(part.range)
        var hasSuffix = false
        if topic.isEmpty || !topic.equals(plainTopic.span) {
            guard HeaderForm.isTopic(topic) else { return .badTopic }
            hasSuffix = PushTypeRules(suffixOf: topic) != nil
            if !hasSuffix {
                plainTopic.removeAll(keepingCapacity: true)
                plainTopic.append(topic)
            }
        }
        if let refusal = rules.refusal(of: topic, hasSuffix: hasSuffix) { return refusal }
        switch credential {
        case .certificate(let certificate):
            return certificate.allows(topic) && !rules.needsProviderToken ? nil : .topicDisallowed
        case .providerToken:
            if topic.hasPrefix(Self.managementPrefix) { return .topicOfCertificate }
            if topics.isEmpty, bound.ofKey.isEmpty { return nil }
            return bound.refusal(of: topic.extracting(rules.app(in: topic)), among: topics)
        }
    }

    /// Apple has no separate reason for a body that is not a JSON object; it counts as empty.
    mutating func refusalOfPayload(_ payload: Span<UInt8>, limit: Int) -> APNsRefusal? {
        if payload.isEmpty { return .payloadEmpty }
        if payload.count > limit { return .payloadTooLarge }
        if payload.equals(goodPayload.span) { return nil }
        guard json.faultOffset(in: payload) == nil else { return .payloadEmpty }
        goodPayload.removeAll(keepingCapacity: true)
        goodPayload.append(payload)
        return nil
    }
}
