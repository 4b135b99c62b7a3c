import CarillonPushRules
import FoundationEssentials

/// Checks the form of requests about channels, and carries out the good ones. Such requests are rare, so it may allocate strings
/// and parse JSON freely.
struct ChannelRequestCheck {
    private static let rules = PushTypeRules.channel

    private struct NewChannel: Decodable {
        let policy: StringOrNumber?
        let pushType: StringOrNumber?

        enum CodingKeys: String, CodingKey {
            case policy = "message-storage-policy"
            case pushType = "push-type"
        }
    }

    private struct Update: Decodable {
        struct APS: Decodable { let event: StringOrNumber? }
        let aps: APS?
    }

    let table: ChannelTable

    /// The refusal before the credential is checked, if any.
    func refusalOfRoute(_ route: ChannelRoute, _ head: RequestHead, in bytes: Span<UInt8>) -> APNsRefusal? {
        if head.duplicate != nil { return .duplicateHeaders }
        if route.action == .broadcast, !bytes.extracting(head.method.range).equals("POST") { return .methodNotAllowed }
        return HeaderForm.isTopic(bytes.extracting(route.app)) ? nil : .badChannelPath
    }

    /// The refusal of a request whose credential is good, if any.
    func refusal(
        of route: ChannelRoute,
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        credential: ClientCredential,
        topics: [[UInt8]]
    ) -> APNsRefusal? {
        if head.requestID.isPresent, !HeaderForm.isCanonicalUUID(bytes.extracting(head.requestID.range)) {
            return .badRequestID
        }
        if let refusal = refusalOfApp(bytes.extracting(route.app), credential, topics) { return refusal }
        switch route.action {
        case .create: return newChannel(payload).refusal
        case .list: return nil
        case .read, .remove: return hasChannelID(head) ? nil : .missingChannelID
        case .broadcast: return refusalOfBroadcast(route, head, in: bytes, payload: payload)
        }
    }

    private func hasChannelID(_ head: RequestHead) -> Bool { !head.channelID.range.isEmpty }

    private func refusalOfApp(_ app: Span<UInt8>, _ credential: ClientCredential, _ topics: [[UInt8]]) -> APNsRefusal? {
        switch credential {
        case .certificate(let certificate): certificate.allows(app) ? nil : .topicMismatch
        case .providerToken: topics.isEmpty || topics.contains { app.equals($0.span) } ? nil : .appDisallowed
        }
    }

    private func refusalOfBroadcast(
        _ route: ChannelRoute,
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>
    ) -> APNsRefusal? {
        guard hasChannelID(head) else { return .missingChannelID }
        guard head.pushType.isPresent else { return .missingPushType }
        guard bytes.extracting(head.pushType.range).equals("liveactivity") else { return .notLiveActivity }
        if Self.rules.needsExpiration, !head.expiration.isPresent { return .broadcastWithoutExpiration }
        let expiration = bytes.extracting(head.expiration.range)
        guard HeaderForm.isExpiration(expiration) else { return .badExpirationDate }
        if head.priority.isPresent {
            guard let priority = PushTypeRules.Priorities(field: bytes.extracting(head.priority.range)),
                Self.rules.priorities.contains(priority)
            else { return .badPriority }
        }
        if let refusal = refusalOfUpdate(payload) { return refusal }
        switch table.find(bytes.extracting(head.channelID.range).text, of: bytes.extracting(route.app).text) {
        case .neverExisted: return .badChannelID
        case .removed: return .channelNotRegistered
        case .found(let channel):
            return channel.storesMessages || expiration.text.allSatisfy { $0 == "0" } ? nil : .nothingIsStored
        }
    }

    private func refusalOfUpdate(_ payload: Span<UInt8>) -> APNsRefusal? {
        if payload.isEmpty { return .payloadEmpty }
        if payload.count > Self.rules.payloadLimit { return .broadcastTooLarge }
        var json = JSONObjectCheck()
        guard json.faultOffset(in: payload) == nil else { return .badRequestPayload }
        guard let update = try? JSONDecoder().decode(Update.self, from: Data(payload.array)) else { return nil }
        return update.aps?.event?.text == "start" ? .startByBroadcast : nil
    }

    private func newChannel(_ payload: Span<UInt8>) -> (storesMessages: Bool, refusal: APNsRefusal?) {
        if payload.isEmpty { return (false, .payloadEmpty) }
        guard let new = try? JSONDecoder().decode(NewChannel.self, from: Data(payload.array)) else {
            return (false, .badRequestPayload)
        }
        guard let pushType = new.pushType else { return (false, .missingPushType) }
        guard pushType.text == "LiveActivity" else { return (false, .notLiveActivity) }
        guard let policy = new.policy else { return (false, .missingChannelQueueSize) }
        guard policy.number == 0 || policy.number == 1 else { return (false, .badStoragePolicy) }
        return (policy.number == 1, nil)
    }

    /// Carries out a good request to the channel service.
    func carryOut(_ route: ChannelRoute, _ head: RequestHead, in bytes: Span<UInt8>, payload: Span<UInt8>) -> Judgement
    {
        let app = bytes.extracting(route.app).text
        let id = bytes.extracting(head.channelID.range).text
        switch route.action {
        case .broadcast: return .broadcast
        case .create:
            guard let channel = table.create(for: app, storesMessages: newChannel(payload).storesMessages) else {
                return .refused(.tooManyChannels)
            }
            return .managed(.created(channel))
        case .read:
            switch table.find(id, of: app) {
            case .found(let channel): return .managed(.found(channel))
            case .removed: return .refused(.channelNotRegistered)
            case .neverExisted: return .refused(.badChannelID)
            }
        case .remove: return table.remove(id, of: app) ? .managed(.removed) : .refused(.noChannelToRemove)
        case .list: return .managed(.list(table.list(of: app)))
        }
    }
}
