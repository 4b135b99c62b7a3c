import CarillonIO

/// What a session needs to notice that its server has stopped answering.
struct SilenceGuard {
    /// For sessions that probe their host.
    private static let limitWithProbe = Duration.seconds(20)

    /// How long the server may leave statements without an answer.
    let limit: Duration
    /// Nil if only what comes in the session itself counts.
    let probe: HostProbe?
    let silentHost: SilentHost
    /// Grows with each sign of life that is no arrival: the kernel has taken more of a long statement, or a probe was answered.
    var signs = 0
    var isProbing = false
    var isObserving = false
    private var state = SilenceState()

    /// Nil if the session does not end by itself.
    init?(_ policy: SilencePolicy, _ probe: HostProbe, _ silentHost: SilentHost) {
        switch policy {
        case .wait: return nil
        case .end(let limit): (self.limit, self.probe) = (limit, nil)
        case .endWithHost: (limit, self.probe) = (Self.limitWithProbe, probe)
        }
        self.silentHost = silentHost
    }

    var interval: Duration { limit / SilenceState.observations }

    /// How long nothing has come although statements wait, in whole intervals.
    var silence: Duration { interval * state.silentObservations }

    /// Another session, such as a worker's, may find out earlier that the server is silent.
    mutating func observed(_ server: ServerAddress, arrivals: Int, isWaiting: Bool) -> SilenceState.Step {
        let step = state.observed(arrivals: arrivals + signs, isWaiting: isWaiting)
        guard state.silentObservations > 0 else { return step }
        let start = MonotonicInstant.now + silence * -1
        return silentHost.isLeft(server, since: start) ? .leave : step
    }
}
