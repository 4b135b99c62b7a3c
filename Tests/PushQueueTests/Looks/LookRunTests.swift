import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct LookRunTests {
    private static let refused = PostgresError(.server, "The disk is full.", sqlState: "53100")
    private static let lost = PostgresError(.closed, "The connection is gone.", effect: .unknown)

    private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var state = WorkerState(WorkerOptions(), seed: 1)

    /// A worker that has just connected.
    init() {
        state.reconnection.connected(at: now)
        state.sleep.connected(canBeNotified: true)
    }

    /// A worker that asks whether it may sleep, at that time.
    private mutating func idle() -> MonotonicInstant {
        state.sleep.announced()
        let look = state.lookBegan(at: now)
        _ = state.lookEnded(look, [], at: now)
        return now + .seconds(1)
    }

    private func name(_ run: LookRun) -> String {
        if case .over = run.step { "over" } else { "\(run.step)" }
    }

    private func wait(_ run: LookRun) -> Duration? {
        if case .over(let wait) = run.step { wait } else { nil }
    }

    @Test(arguments: [true, false])
    mutating func `a worker that has connected reads changes of apps, looks, and says that it is awake`(
        isRefused: Bool
    ) {
        var run = LookRun(in: &state, at: now)
        #expect(name(run) == "refresh" && !run.mayClaim)
        if isRefused { run.failed(Self.refused, in: &state, at: now) } else { run.succeeded(in: &state) }
        #expect(name(run) == "look" && run.mayClaim)
        run.succeeded(.milliseconds(5), in: &state)
        #expect(name(run) == "wake" && run.mayClaim)
        run.succeeded(in: &state)
        #expect(name(run) == "clear" && state.sleep.mustAnnounce)
        if isRefused { run.failed(Self.refused, in: &state, at: now) } else { run.succeeded(in: &state) }
        #expect(wait(run) == .milliseconds(5) && !state.sleep.mustAnnounce)
        let next = LookRun(in: &state, at: now)
        #expect(name(next) == "look")
    }

    @Test mutating func `a worker that cannot say that it is awake waits ever longer`() {
        var waits: [Duration] = []
        for _ in 0..<20 {
            var run = LookRun(in: &state, at: now)
            run.succeeded(in: &state)
            run.succeeded(.milliseconds(1), in: &state)
            run.failed(Self.refused, in: &state, at: now)
            waits.append(wait(run) ?? .zero)
        }
        #expect(state.sleep.mustAnnounce)
        #expect(waits[19] > waits[0] * 2)
        var run = LookRun(in: &state, at: now)
        run.succeeded(in: &state)
        run.succeeded(.seconds(3600), in: &state)
        run.failed(Self.refused, in: &state, at: now)
        #expect(wait(run) == .seconds(3600))
    }

    @Test mutating func `a sleeper whose look fails wakes, and says nothing`() {
        let later = idle()
        var run = LookRun(in: &state, at: later)
        _ = state.sleepReturned(SleepRows(isAlive: true), askedAt: later, at: later)
        run.succeeded(.seconds(1), in: &state)
        #expect(wait(run) == .seconds(1) && !state.sleep.isAwake)
        _ = state.sleep.called()
        run = LookRun(in: &state, at: later)
        #expect(name(run) == "refresh")
        run.succeeded(in: &state)
        #expect(name(run) == "look" && !state.sleep.isAwake)
        run.failed(Self.refused, in: &state, at: later)
        #expect(name(run) == "over" && state.sleep.isAwake && state.sleep.mustAnnounce)
    }

    @Test mutating func `a worker that must not sleep reads changes of apps before it claims`() {
        let later = idle()
        var run = LookRun(in: &state, at: later)
        #expect(name(run) == "ask")
        let answer = SleepRows(hasWork: true)
        let (wait, _) = state.sleepReturned(answer, askedAt: later, at: later)
        run.succeeded(wait, foundWork: answer.hasWork, in: &state)
        #expect(name(run) == "refresh" && !run.mayClaim && state.sleep.isAwake)
        run.succeeded(in: &state)
        #expect(name(run) == "over")
    }

    @Test(arguments: [true, false])
    mutating func `a worker that could not ask says that it is awake, unless it has lost its connection`(isLost: Bool) {
        let later = idle()
        var run = LookRun(in: &state, at: later)
        run.failed(isLost ? Self.lost : Self.refused, in: &state, at: later)
        #expect(name(run) == (isLost ? "over" : "wake"))
        #expect(state.sleep.isAwake && state.sleep.mustAnnounce)
    }
}
