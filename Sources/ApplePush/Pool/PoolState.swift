import IO

/// What a pool knows of its connections, and what it decides: a value that touches no socket, clock or task.
///
/// What happened comes in by methods in the past tense. What must be done comes out of `nextAction`, until it is nil;
/// which connection takes waiting pushes comes out of `nextShare`.
struct PoolState<Random: RandomNumberGenerator> {
    private let gateway: Gateway
    private let usesTokens: Bool
    private let idleTimeout: Duration
    private var random: Random
    private(set) var roster: ConnectionRoster
    private(set) var authorizations = Authorizations()
    /// A provider token was asked for and has not come yet.
    private var isFetchingToken = false
    /// An answer has shown that the gateway accepts the credential.
    private(set) var isAccepted = false
    /// Somebody waits for a connection and has handed over no push yet.
    private(set) var isPreparing = false
    private(set) var isShutDown = false
    private(set) var isOutdated = false
    /// The credential was replaced, and what was handed over before has not ended: connections close when they are idle.
    private var isReplaced = false
    /// When another connection may be made, if one is needed.
    private(set) var dialDue: MonotonicInstant?
    /// What is left of the present spread of pushes over connections, the last first.
    private var shares: [ConnectionRoster.Share] = []
    private var actions: [Action] = []
    private var actionCursor = 0

    init(to gateway: Gateway, usesTokens: Bool, connections: Int, idleTimeout: Duration, random: Random) {
        self.gateway = gateway
        self.usesTokens = usesTokens
        self.idleTimeout = idleTimeout
        self.random = random
        roster = ConnectionRoster(limit: connections)
    }

    // MARK: What must be done

    /// The next thing to do; nil if nothing is left.
    mutating func nextAction() -> Action? {
        guard actionCursor < actions.count else { return nil }
        defer {
            actionCursor += 1
            if actionCursor == actions.count {
                actions.removeAll(keepingCapacity: true)
                actionCursor = 0
            }
        }
        return actions[actionCursor]
    }

    /// The next connection to take waiting pushes, and how many; nil if no connection has room, or no push may be sent.
    mutating func nextShare(of waiting: Int, at now: MonotonicInstant) -> ConnectionRoster.Share? {
        guard waiting > 0, mayAuthorize(at: now) else {
            shares.removeAll(keepingCapacity: true)
            return nil
        }
        while let share = shares.popLast() {
            if roster.contains(share.id) { return share }
        }
        shares = roster.shares(of: waiting).reversed()
        return shares.popLast()
    }

    /// How many pushes the gateway takes at a time, on all connections; nil while that is unknown.
    var capacity: Int? { roster.capacity }

    /// When the pool must look at its connections again, if nothing happens before.
    var due: MonotonicInstant {
        min(roster.nextIdle(after: idleTimeout) ?? .distantFuture, roster.nextSpare ?? .distantFuture)
    }

    // MARK: Pushes

    /// A delivery was added to the queue.
    mutating func deliveryAdded() {
        if isShutDown { giveUpWaiting(.shutDown) }
    }

    /// Somebody waits for a connection that takes pushes. False if there is nothing to wait for.
    mutating func preparationBegan() -> Bool {
        if isShutDown { return false }
        isPreparing = true
        return true
    }

    /// Those who wait for a connection have waited for long enough, or one of them has gone.
    mutating func preparationEnded() {
        guard isPreparing else { return }
        isPreparing = false
        actions.append(.endPreparing)
    }

    /// The waiting pushes were spread over the connections, and so many are left.
    mutating func spread(left waiting: Int, at now: MonotonicInstant) {
        dialDue = nil
        if isShutDown { return }
        if isPreparing, mayAuthorize(at: now), roster.hasRoom { preparationEnded() }
        if waiting == 0 { closeIdle() }
        let expected = waiting + (isPreparing ? 1 : 0)
        while true {
            switch roster.dial(waiting: expected, at: now, using: &random) {
            case .no: return
            case .at(let time):
                dialDue = time
                return
            case .now(let id):
                let terms = DialTerms(
                    trial: trial,
                    authorization: authorizations.current,
                    expectancy: roster.expectancy
                )
                actions.append(.dial(id, terms))
            }
        }
    }

    /// Nothing waits: idle connections that are old, or whose credential was replaced, are of no more use.
    private mutating func closeIdle() {
        for member in roster.members where member.isIdle && (member.phase == .old || (isReplaced && !isPreparing)) {
            actions.append(.end(member.id, .aged))
        }
    }

    /// How many pushes the next connection may have in flight before the gateway has shown that it accepts the credential;
    /// nil: it has. A certificate is judged once, by few; a provider token on each connection anew, by one, as Apple wants.
    private var trial: Int? {
        if usesTokens { return 1 }
        return isAccepted ? nil : ConnectionRoster.certificateTrial
    }

    // MARK: Connections

    /// Something happened to a connection, or was done to it: it is what it now is.
    mutating func changed(_ id: Int, to sighting: ConnectionSighting, waiting: Int, at now: MonotonicInstant) {
        guard roster.contains(id) else { return }
        if sighting.isAccepted { isAccepted = true }
        if let token = sighting.refusedToken { tokenRefused(token, at: now) }
        if let end = sighting.end, end.isRefusal {
            let failure = PushError(end, of: gateway)
            if failure.code == .throttled { authorizations.rest(at: now) }
            giveUpWaiting(failure)
        }
        if sighting.isClosed, let end = sighting.end {
            ended(id, by: end, sighting.answered, at: now)
            // What is handed over from now on has the credential because it is in use again.
            if roster.members.isEmpty, waiting == 0 { isReplaced = false }
            return
        }
        if sighting.room.inFlight == 0, let end = sighting.end { actions.append(.end(id, end)) }
        roster.changed(id, to: sighting.phase, sighting.room, at: now)
        for id in roster.replaced { actions.append(.retire(id, .aged)) }
    }

    private mutating func ended(_ id: Int, by end: ConnectionEnd, _ answered: Int, at now: MonotonicInstant) {
        actions.append(.forget(id, end))
        let wasOfUse = end.isOurs || (answered > 0 && !end.isRefusal && end != .starved)
        roster.ended(id, by: end, answers: wasOfUse ? answered : nil, at: now, using: &random)
        // After a polite end one more connection is tried.
        let isHopeless = !end.isPolite || roster.pace.failures > 1
        if !wasOfUse, isHopeless, !roster.hasHope { giveUpWaiting(PushError(end, of: gateway)) }
    }

    /// A connection could not even be begun.
    mutating func failedToBegin(_ id: Int, _ failure: PushError, at now: MonotonicInstant) {
        guard roster.contains(id) else { return }
        roster.ended(id, by: .unconnected(failure), answers: nil, at: now, using: &random)
        giveUpWaiting(failure)
    }

    /// Time has passed.
    mutating func passed(to now: MonotonicInstant, waiting: Int) {
        idled(for: idleTimeout, at: now)
        if waiting == 0, let spare = roster.spare { actions.append(.retire(spare, .spare)) }
    }

    /// Connections that have been idle for longer than that are of no more use.
    mutating func idled(for limit: Duration, at now: MonotonicInstant) {
        for id in roster.idle(longerThan: limit, at: now) { actions.append(.end(id, .idle)) }
    }

    /// The credential was replaced: its connections take no more pushes. What waits is sent over others.
    mutating func credentialReplaced(waiting: Int) {
        isReplaced = waiting > 0 || !roster.members.isEmpty
        for member in roster.members { actions.append(.retire(member.id, .aged)) }
    }

    /// The pool may be forgotten, as far as its owner is concerned. True if nothing is left in it: then it takes no more.
    mutating func outdated(hasDeliveries: Bool) -> Bool {
        isOutdated = roster.members.isEmpty && !hasDeliveries && !isPreparing
        return isOutdated
    }

    /// The session was shut down: everything ends at once.
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

    /// Whether pushes may be sent: with a certificate always, else with a token that is good. One that is due for
    /// renewal is good for some minutes more.
    private mutating func mayAuthorize(at now: MonotonicInstant) -> Bool {
        if !usesTokens { return true }
        if authorizations.isDue(at: now) { fetchToken(refusing: nil) }
        return authorizations.current != nil
    }

    /// The gateway has called that token too old.
    private mutating func tokenRefused(_ token: ProviderToken, at now: MonotonicInstant) {
        guard usesTokens, !isFetchingToken, authorizations.refused(token, at: now) else { return }
        fetchToken(refusing: token)
    }

    private mutating func fetchToken(refusing refused: ProviderToken?) {
        if isFetchingToken || isShutDown { return }
        isFetchingToken = true
        actions.append(.fetchToken(refusing: refused))
    }

    /// A provider token came that was asked for; it is to be used for so long.
    mutating func tokenCame(_ authorization: Authorization, for time: Duration) {
        isFetchingToken = false
        if isShutDown { return }
        authorizations.adopt(authorization, for: time)
        actions.append(.authorize(authorization))
    }

    /// No provider token was to be had.
    mutating func tokenFailed(_ error: PushError, at now: MonotonicInstant) {
        isFetchingToken = false
        authorizations.failed(at: now)
        if authorizations.current == nil { giveUpWaiting(error) }
    }
}

extension PushError {
    static let shutDown = PushError(.shutDown, "The session was shut down: make a new one to send more.")
}
