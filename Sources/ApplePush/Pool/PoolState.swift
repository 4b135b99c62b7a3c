import CarillonIO

/// What a pool knows about its connections and decides about them: a value without sockets, clocks or tasks.
///
/// Events come in through methods in the past tense. `nextAction` returns what must be done, until it is nil; `nextAllotment`
/// returns which connection takes waiting pushes.
struct PoolState {
    /// What the owner of the sockets must do.
    enum Action {
        case dial(Int, ConversationTerms)
        /// Stop giving pushes to this connection.
        case retire(Int, ConnectionEnd)
        /// Close this connection, and end every push in flight on it.
        case end(Int, ConnectionEnd)
        /// This connection is closed: release what belonged to it.
        case forget(Int, ConnectionEnd)
        /// End the waiting pushes: no connection can take them.
        case giveUpWaiting(PushError)
        /// Let the callers of `prepare` return.
        case endPreparing
        case fetchToken(refusing: ProviderToken?)
        case authorize(Authorization)
    }

    private let gateway: Gateway
    private let usesTokens: Bool
    private let limits: ConnectionPool.Limits
    private var hasDialed = false
    private var random: SeededGenerator
    private(set) var roster: ConnectionRoster
    private var authorizations = Authorizations()
    private var isFetchingToken = false
    /// Whether an answer has shown that the gateway accepts the credential.
    private var isAccepted = false
    /// Whether callers of `prepare` are waiting for a connection.
    private var isPreparing = false
    private(set) var isShutDown = false
    private(set) var isOutdated = false
    /// Whether the credential was replaced while earlier pushes had not ended: connections close as soon as they are idle.
    private var isReplaced = false
    /// When another connection may be opened, if one is needed.
    private(set) var dialDue: MonotonicInstant?
    /// The connections that have yet to take waiting pushes, in reverse order.
    private var allotments: [ConnectionRoster.Allotment] = []
    private var actions: ArraySlice<Action> = []

    init(to gateway: Gateway, usesTokens: Bool, _ limits: ConnectionPool.Limits, seed: UInt64) {
        self.gateway = gateway
        self.usesTokens = usesTokens
        self.limits = limits
        random = SeededGenerator(seed: seed)
        roster = ConnectionRoster(limit: limits.connections)
    }

    // MARK: What must be done

    mutating func nextAction() -> Action? { actions.popFirst() }

    /// The next connection to take waiting pushes, and how many; nil if no connection has room or no push may be sent.
    mutating func nextAllotment(of waiting: Int, at now: MonotonicInstant) -> ConnectionRoster.Allotment? {
        guard waiting > 0, mayAuthorize(at: now) else {
            allotments.removeAll(keepingCapacity: true)
            return nil
        }
        while let allotment = allotments.popLast() {
            if roster.contains(allotment.id) { return allotment }
        }
        allotments = roster.allotments(of: waiting).reversed()
        return allotments.popLast()
    }

    var capacity: Int? { roster.capacity }

    /// When `passed` must next be called, if nothing happens before.
    var due: MonotonicInstant {
        min(roster.nextIdle(after: limits.idleTimeout) ?? .distantFuture, roster.nextSpare ?? .distantFuture)
    }

    // MARK: Pushes

    mutating func deliveryAdded() {
        if isShutDown { giveUpWaiting(.shutDown) }
    }

    /// Returns false if there is nothing to wait for.
    mutating func preparationBegan() -> Bool {
        if isShutDown { return false }
        isPreparing = true
        return true
    }

    /// The time limit has passed, or a caller of `prepare` was cancelled.
    mutating func preparationEnded() {
        guard isPreparing else { return }
        isPreparing = false
        actions.append(.endPreparing)
    }

    /// The waiting pushes have been spread over the connections, and this many are left.
    mutating func spread(left waiting: Int, at now: MonotonicInstant) {
        dialDue = nil
        if isShutDown { return }
        if isPreparing, mayAuthorize(at: now), roster.hasRoom { preparationEnded() }
        if waiting == 0 { closeIdle() }
        let expected = waiting + (isPreparing ? 1 : 0)
        if limits.isSingle, hasDialed {
            if expected > 0, let failure = singleConnectionFailure { giveUpWaiting(failure) }
            return
        }
        while true {
            switch roster.dial(waiting: expected, at: now, using: &random) {
            case .no: return
            case .at(let time):
                dialDue = time
                return
            case .now(let id):
                hasDialed = true
                let terms = ConversationTerms(
                    acceptanceLimit: acceptanceLimit,
                    authorization: authorizations.current,
                    expectedAnswers: roster.expectedAnswers
                )
                actions.append(.dial(id, terms))
            }
        }
    }

    /// Why waiting pushes cannot use the only connection; nil while it is being opened or is proving itself.
    private var singleConnectionFailure: PushError? {
        guard roster.hasUsable else { return .closed(gateway) }
        return roster.members.contains { $0.phase == .dialing || $0.phase == .proving } ? nil : .blocked(gateway)
    }

    /// No push is waiting: idle connections that are old or whose credential was replaced are no longer needed.
    private mutating func closeIdle() {
        for member in roster.members where member.isIdle && (member.phase == .old || (isReplaced && !isPreparing)) {
            actions.append(.end(member.id, isReplaced ? .replaced : .aged))
        }
    }

    /// How many pushes test the credential: with a certificate, a few, once for the gateway; with a provider token, one on each
    /// connection, as Apple requires.
    private var acceptanceLimit: Int? {
        if usesTokens { return 1 }
        return isAccepted ? nil : ConnectionRoster.certificateAcceptanceLimit
    }

    // MARK: Connections

    mutating func changed(_ id: Int, to status: ConnectionStatus, waiting: Int, at now: MonotonicInstant) {
        guard roster.contains(id) else { return }
        if status.isAccepted { isAccepted = true }
        if let token = status.refusedToken { tokenRefused(token, at: now) }
        let end = status.phase.end
        if let end, end.kind == .refused {
            let failure = end.error(of: gateway)
            if failure.code == .throttled { authorizations.keepCurrent(at: now) }
            giveUpWaiting(failure)
        }
        if case .closed(let end) = status.phase {
            ended(id, by: end, status.answered, at: now)
            // Later deliveries may use the credential again.
            if roster.members.isEmpty, waiting == 0 { isReplaced = false }
            return
        }
        if status.room.inFlight == 0, let end { actions.append(.end(id, end)) }
        roster.changed(id, to: status.phase, status.room, at: now)
        for id in roster.replaced { actions.append(.retire(id, .aged)) }
    }

    private mutating func ended(_ id: Int, by end: ConnectionEnd, _ answered: Int, at now: MonotonicInstant) {
        actions.append(.forget(id, end))
        let wasOfUse = end.kind == .ours || (answered > 0 && end.kind != .refused && end.kind != .starved)
        roster.ended(id, by: end, answers: wasOfUse ? answered : nil, at: now, using: &random)
        // After an orderly end, try one more connection.
        let isHopeless = !end.isPolite || roster.pace.failures > 1
        if !wasOfUse, isHopeless, !roster.hasUsable { giveUpWaiting(end.error(of: gateway)) }
    }

    /// The conversation of a connection could not be started.
    mutating func failedToBegin(_ id: Int, _ failure: PushError, at now: MonotonicInstant) {
        guard roster.contains(id) else { return }
        roster.ended(id, by: .unconnected(failure), answers: nil, at: now, using: &random)
        giveUpWaiting(failure)
    }

    mutating func passed(to now: MonotonicInstant, waiting: Int) {
        idled(for: limits.idleTimeout, at: now)
        if waiting == 0, let spare = roster.spare { actions.append(.retire(spare, .spare)) }
    }

    mutating func idled(for limit: Duration, at now: MonotonicInstant) {
        for id in roster.idle(longerThan: limit, at: now) { actions.append(.end(id, .idle)) }
    }

    /// The credential was replaced: its connections accept no more pushes. Waiting pushes are sent over new connections.
    mutating func credentialReplaced(waiting: Int) {
        isReplaced = waiting > 0 || !roster.members.isEmpty
        for member in roster.members { actions.append(.retire(member.id, .replaced)) }
    }

    /// Returns true if nothing is left in the pool; it then accepts no more deliveries.
    mutating func outdated(hasDeliveries: Bool) -> Bool {
        isOutdated = roster.members.isEmpty && !hasDeliveries && !isPreparing
        return isOutdated
    }

    mutating func shutDown() {
        isShutDown = true
        for member in roster.members { actions.append(.end(member.id, .shutDown)) }
        giveUpWaiting(.shutDown)
    }

    private mutating func giveUpWaiting(_ failure: PushError) {
        actions.append(.giveUpWaiting(failure))
        preparationEnded()
    }

    // MARK: Provider tokens

    /// Whether pushes may be sent: always with a certificate, otherwise if there is a token. A token that is due for renewal
    /// remains valid for some minutes.
    private mutating func mayAuthorize(at now: MonotonicInstant) -> Bool {
        if !usesTokens { return true }
        if authorizations.isDue(at: now) { fetchToken(refusing: nil) }
        return authorizations.current != nil
    }

    /// The gateway has refused this token as too old.
    private mutating func tokenRefused(_ token: ProviderToken, at now: MonotonicInstant) {
        guard usesTokens, !isFetchingToken, authorizations.refused(token, at: now) else { return }
        fetchToken(refusing: token)
    }

    private mutating func fetchToken(refusing refused: ProviderToken?) {
        if isFetchingToken || isShutDown { return }
        isFetchingToken = true
        actions.append(.fetchToken(refusing: refused))
    }

    /// - Parameter time: how long to use it.
    mutating func tokenFetched(_ authorization: Authorization, for time: Duration) {
        isFetchingToken = false
        if isShutDown { return }
        authorizations.adopt(authorization, for: time)
        actions.append(.authorize(authorization))
    }

    mutating func tokenFailed(_ error: PushError, at now: MonotonicInstant) {
        isFetchingToken = false
        authorizations.failed(at: now)
        if authorizations.current == nil { giveUpWaiting(error) }
    }
}
