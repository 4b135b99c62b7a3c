/// Decides on requests: form, credential, then the rules. Knows no socket and no clock.
struct Judge {
    private var check: RequestCheck
    private var keys: ProviderKeys
    private var rules: AnswerRules

    init(_ configuration: SimulatorConfiguration) {
        check = RequestCheck(topics: configuration.topics)
        keys = ProviderKeys(configuration.providerKeys, environment: configuration.environment)
        rules = AnswerRules(configuration.answers)
    }

    /// How many different provider tokens were good.
    var goodTokens: Int { keys.goodTokens }

    /// The verdict on a request that came at `now`, in seconds since 1970.
    mutating func verdict(
        on head: RequestHead,
        in bytes: Span<UInt8>,
        payload: Span<UInt8>,
        from connection: inout ConnectionState,
        now: Double
    ) -> Verdict {
        if let refusal = check.refusalOfRoute(head, in: bytes) { return .refused(refusal) }
        let authorization = bytes.extracting(head.authorization.range)
        let isPresent = head.authorization.isPresent
        if let refusal = connection.refusalOfCredential(authorization, isPresent: isPresent, now: now, keys: &keys) {
            return .refused(refusal)
        }
        let credential = connection.credential
        if let refusal = check.refusalOfContent(head, in: bytes, payload: payload, credential: credential) {
            return .refused(refusal)
        }
        if rules.isEmpty { return .accepted }
        return rules.take(bytes.extracting(RequestCheck.token(of: head, in: bytes))).map { .ruled($0) } ?? .accepted
    }
}
