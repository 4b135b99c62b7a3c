import CarillonPushRules

/// Decides on requests: checks the form, the credential and the app of the device token, then applies the rules. It has no socket
/// and no clock.
struct Judge {
    private var check: RequestCheck
    private var keys: ProviderKeys
    private var rules: AnswerRules
    /// Nil if any topic may push to any device token.
    private var owners: DeviceTokenOwners?
    private let channels: ChannelRequestCheck

    init(_ configuration: SimulatorConfiguration, channels: ChannelTable) {
        self.channels = ChannelRequestCheck(table: channels)
        check = RequestCheck(topics: configuration.topics, allowsUnknownTypes: configuration.allowsUnknownTypes)
        keys = ProviderKeys(
            configuration.providerKeys,
            environment: configuration.environment,
            isPedantic: configuration.isPedantic
        )
        rules = AnswerRules(configuration.answers)
        owners = configuration.bindsTokens ? DeviceTokenOwners() : nil
    }

    /// Adds a topic. Connections that have already pushed do not know it.
    mutating func allow(_ topic: String) { check.allow(topic) }

    var acceptedProviderTokens: Int { keys.acceptedTokens }

    var uncounted: Int { rules.uncounted }

    /// The judgement on a request that arrived at `now`, in seconds since 1970.
    mutating func judgement(
        on head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        from connection: inout AuthenticationState,
        now: Double
    ) -> Judgement {
        guard connection.service == .pushes else {
            return judgementOnChannelRequest(head, in: bytes, payload: payload, from: &connection, now: now)
        }
        if let refusal = check.refusalOfRoute(head, in: bytes) {
            guard ChannelRoute(of: head, in: bytes, at: .pushes) != nil else { return .refused(refusal) }
            return judgementOnChannelRequest(head, in: bytes, payload: payload, from: &connection, now: now)
        }
        let authorization = bytes.extracting(head.authorization.range)
        let isPresent = head.authorization.isPresent
        if let refusal = connection.refusalOfCredential(authorization, isPresent: isPresent, now: now, keys: &keys) {
            return .refused(refusal)
        }
        let credential = connection.credential
        let bound = connection.bind(check.topics.count)
        if let refusal = check.refusalOfContent(
            head,
            in: bytes,
            payload: payload,
            credential: credential,
            bound: bound
        ) {
            return .refused(refusal)
        }
        if owners == nil, rules.isEmpty { return .accepted }
        let app = app(of: head, in: bytes, credential)
        return judgement(on: bytes.extracting(head.deviceToken(in: bytes)), of: app)
    }

    /// The judgement on a broadcast, or on a request to the channel service.
    private mutating func judgementOnChannelRequest(
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        from connection: inout AuthenticationState,
        now: Double
    ) -> Judgement {
        guard let route = ChannelRoute(of: head, in: bytes, at: connection.service) else {
            return .refused(ChannelRoute.refusal(of: head, in: bytes))
        }
        if let refusal = channels.refusalOfRoute(route, head, in: bytes) { return .refused(refusal) }
        let authorization = bytes.extracting(head.authorization.range)
        let isPresent = head.authorization.isPresent
        let refusal =
            connection.refusalOfCredential(authorization, isPresent: isPresent, now: now, keys: &keys)
            ?? channels.refusal(
                of: route,
                head,
                in: bytes,
                payload: payload,
                credential: connection.credential,
                topics: check.topics
            )
        if let refusal { return .refused(refusal) }
        let subject = bytes.extracting(head.channelID.isPresent ? head.channelID.range : route.app)
        guard let rule = rules.rule(for: route.action, subject) else {
            return channels.carryOut(route, head, in: bytes, payload: payload)
        }
        // Carry out a request even if the rule withholds its answer: that is what makes a lost answer hard to handle.
        if !rules.isAnswered(rule) { _ = channels.carryOut(route, head, in: bytes, payload: payload) }
        return .ruled(rule)
    }

    /// The judgement on a notification of the binary protocol, whose device token is given in digits.
    mutating func judgement(
        on notification: Notification,
        token: Span<UInt8>,
        payload: Span<UInt8>,
        from certificate: ClientCredential.Certificate
    ) -> Judgement {
        if token.isEmpty { return .refused(.missingDeviceToken) }
        guard HeaderForm.isDeviceToken(token) else { return .refused(.badDeviceToken) }
        if let refusal = check.refusalOfPayload(payload, limit: notification.payloadLimit) { return .refused(refusal) }
        if owners == nil, rules.isEmpty { return .accepted }
        // The protocol has no topic field; the topic is that of the certificate's subject.
        guard let topic = certificate.topics.first else { return judgement(on: token, of: nil) }
        return judgement(on: token, of: owners?.app(named: topic.span))
    }

    private mutating func judgement(on token: Span<UInt8>, of app: DeviceTokenOwners.App?) -> Judgement {
        guard let app, let key = owners?.key(of: token) else { return rules.judgement(on: token) }
        let owner = owners?.owner(of: key)
        if let owner, owner != app { return .refused(.deviceTokenNotForTopic) }
        let judgement = rules.judgement(on: token)
        if owner == nil, rules.isDelivered(judgement) { owners?.set(key, to: app) }
        return judgement
    }

    /// The app of a good request: its topic, or the certificate's only one, without the suffix of its push type. Nil if device
    /// tokens have no owners.
    private mutating func app(
        of head: RequestHead,
        in bytes: Span<UInt8>,
        _ credential: ClientCredential
    ) -> DeviceTokenOwners.App? {
        guard owners != nil else { return nil }
        let rules = PushTypeRules(of: head, in: bytes) ?? .unknown
        if head.topic.isPresent {
            let topic = bytes.extracting(head.topic.range)
            return owners?.app(named: topic.extracting(rules.app(in: topic)))
        }
        guard let topic = credential.onlyTopic else { return nil }
        return owners?.app(named: topic.span.extracting(rules.app(in: topic.span)))
    }
}
