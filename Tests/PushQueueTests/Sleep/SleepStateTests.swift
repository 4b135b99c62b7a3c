import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct SleepStateTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let alone = SleepRows(isAlive: true)
    private let watched = SleepRows(isAlive: true, holders: nil, othersAreAwake: true)

    private func begin(lease: Duration = .seconds(15), hosts: Int = 1) -> SleepState {
        var state = SleepState(lease: lease, hosts: hosts, seed: 3)
        state.connected(canBeNotified: true)
        state.announced()
        return state
    }

    /// The worker asks, and is answered at that time.
    private func ask(
        _ state: inout SleepState,
        _ answer: SleepRows,
        after cost: Duration = .zero,
        at now: MonotonicInstant
    ) -> Duration {
        if state.isAwake { state.fellAsleep(until: nil, at: now) }
        return state.returned(answer, after: cost, at: now)
    }

    /// A worker that has slept since `now`, for so many answers.
    private func asleep(_ answers: Int) -> SleepState {
        var state = begin()
        for _ in 0..<answers { _ = ask(&state, alone, at: now) }
        return state
    }

    private func waits(_ answer: SleepRows, lease: Duration = .seconds(15)) -> [Duration] {
        var state = begin(lease: lease)
        var waits: [Duration] = []
        for _ in 0..<5 { waits.append(ask(&state, answer, at: now)) }
        return waits
    }

    /// How long the worker finds nothing from that time on before it asks.
    private func idleTime(_ state: SleepState, from start: MonotonicInstant) -> Duration {
        var state = state
        state.announced()
        state.looked(foundWork: false, at: start)
        var time = start
        while !state.mustAsk(at: time), time - start < .seconds(100) { time = time + .milliseconds(10) }
        return time - start
    }

    // MARK: Falling asleep

    @Test func `a worker asks whether it may sleep when it has found nothing for a moment`() {
        var state = begin()
        #expect(!state.mustAsk(at: now))
        state.looked(foundWork: false, at: now)
        #expect(!state.mustAsk(at: now + .milliseconds(49)))
        #expect(state.mustAsk(at: now + .milliseconds(50)))
        state.looked(foundWork: true, at: now + .milliseconds(50))
        state.looked(foundWork: false, at: now + .milliseconds(60))
        #expect(!state.mustAsk(at: now + .milliseconds(109)))
    }

    @Test func `a worker that cannot be called never asks`() {
        var state = SleepState(lease: .seconds(15), hosts: 1, seed: 3)
        #expect(idleTime(state, from: now) >= .seconds(100))
        state.connected(canBeNotified: false)
        #expect(idleTime(state, from: now) >= .seconds(100))
    }

    @Test func `where transactions may be prepared to commit, a worker asks once and stays awake`() {
        var state = begin()
        let wait = ask(&state, SleepRows(maySleep: false), at: now)
        #expect(wait == .zero && state.isAwake && !state.mustAnnounce && !state.isPossible)
        #expect(idleTime(state, from: now) >= .seconds(100))
    }

    @Test func `slow looks are ever rarer, and at most half a minute or two leases apart`() {
        let usual = waits(alone)
        #expect(usual == [.milliseconds(100), .seconds(1), .seconds(10), .seconds(30), .seconds(30)])
        let short = waits(alone, lease: .seconds(2))
        #expect(short == [.milliseconds(100), .seconds(1), .seconds(4), .seconds(4), .seconds(4)])
        #expect(begin(lease: .seconds(600)).longest == .seconds(30))
    }

    /// So that it leaves a host that has stopped answering within some 20 seconds.
    @Test func `a worker that can go to another host looks every five seconds`() {
        #expect(begin(hosts: 2).longest == .seconds(5) && begin(hosts: 2).lease == .seconds(25))
    }

    /// It may wake within its lease, lose its connection, and send until that ends.
    @Test func `a sleeper counts as alive for five slow looks, and no less than its lease`() {
        #expect(begin(lease: .seconds(15)).lease == .seconds(150) && begin(lease: .seconds(600)).lease == .seconds(600))
    }

    @Test func `a worker that begins says that it is awake, because the flag may be left from a dead sleeper`() {
        var state = SleepState(lease: .seconds(15), hosts: 1, seed: 3)
        state.connected(canBeNotified: true)
        state.looked(foundWork: false, at: now)
        #expect(state.mustAnnounce && state.wokeByItself && !state.mustAsk(at: now + .seconds(10)))
    }

    @Test func `while others are awake, slow looks are a second apart, and the second one is made at once`() {
        let waits = waits(watched)
        #expect(waits == [.milliseconds(1), .milliseconds(100), .seconds(1), .seconds(1), .seconds(1)])
    }

    @Test func `a sleeper wakes for what is due, and for its own end`() {
        var state = begin()
        state.fellAsleep(until: now + .seconds(5), at: now)
        _ = ask(&state, alone, at: now)
        let untilDue = ask(&state, SleepRows(isAlive: true, dueIn: .milliseconds(700)), at: now)
        let untilEnd = ask(&state, alone, at: now + .seconds(2))
        #expect(untilDue == .milliseconds(701) && untilEnd == .seconds(3))
        let before = state.asksAgain(at: now + .milliseconds(4999))
        let then = state.asksAgain(at: now + .seconds(5))
        #expect(before && !then && state.isAwake && state.wokeByItself)
    }

    @Test func `a sleeper that is called learns anew when it has to wake`() {
        var state = asleep(4)
        let wait = state.lookedWhenCalled(foundWork: false, until: now + .milliseconds(40), at: now)
        let asks = state.asksAgain(at: now + .milliseconds(40))
        #expect(wait == .milliseconds(40) && !asks && state.isAwake)
    }

    @Test func `expensive questions are rare`() {
        var state = begin()
        let wait = ask(&state, alone, after: .milliseconds(80), at: now)
        #expect(wait == .milliseconds(1600))
        state.wake(at: now + .seconds(10))
        #expect(idleTime(state, from: now) == .milliseconds(1600))
    }

    /// A long transaction makes each answer slow, because dead entries pile up.
    @Test func `answers take a small part of the time, even while a transaction is open`() {
        var state = begin()
        let holding = SleepRows(isAlive: true, holders: ["4/7"])
        let wait = ask(&state, holding, after: .milliseconds(500), at: now)
        let called = state.lookedWhenCalled(foundWork: false, until: nil, at: now)
        let again = state.lookedWhenCalled(foundWork: false, until: nil, at: now + .seconds(9))
        #expect(wait == .seconds(10) && called == .seconds(10) && again == nil)
    }

    // MARK: Transactions that do not notify

    @Test func `a sleeper looks often until transactions that began before it slept have ended`() {
        var state = begin()
        var waits: [Duration] = []
        for seconds in [0, 1, 10, 60] {
            waits.append(ask(&state, SleepRows(isAlive: true, holders: ["4/7"]), at: now + .seconds(seconds)))
            #expect(state.holders == ["4/7"])
        }
        #expect(waits == [.milliseconds(20), .milliseconds(50), .milliseconds(500), .seconds(1)])
        let wait = ask(&state, alone, at: now + .seconds(61))
        #expect(wait == .seconds(30) && state.holders == [])
    }

    /// Another worker, which was to wait for them, may have died.
    @Test func `a sleeper does not know of such transactions until nobody else is awake`() {
        var state = begin()
        #expect(state.holders == nil)
        for answer in [watched, SleepRows(isAlive: true, holders: ["4/7"]), watched] {
            _ = ask(&state, answer, at: now)
            #expect(state.holders == answer.holders)
        }
    }

    // MARK: Calls

    @Test func `a call makes a sleeper look, and what it finds wakes it`() {
        var state = asleep(1)
        let mustLook = state.called()
        let asks = state.asksAgain(at: now)
        let wait = state.lookedWhenCalled(foundWork: true, until: nil, at: now)
        #expect(mustLook && !asks && wait == nil)
        #expect(state.isAwake && state.mustAnnounce && !state.wokeByItself)
        state.looked(foundWork: false, at: now)
        #expect(!state.mustAsk(at: now + .seconds(10)), "the fleet takes it for asleep")
        state.announced()
        #expect(state.mustAsk(at: now + .seconds(10)))
    }

    @Test func `a call that comes while the question is under way is not forgotten`() {
        var state = begin()
        state.fellAsleep(until: nil, at: now)
        let mustLook = state.called()
        _ = ask(&state, alone, at: now)
        let asks = [state.asksAgain(at: now), state.asksAgain(at: now)]
        #expect(mustLook && asks == [false, true])
    }

    @Test func `a call that was for others leaves a sleeper asleep, and it asks soon`() {
        var state = asleep(4)
        let wait = state.lookedWhenCalled(foundWork: false, until: nil, at: now)
        let next = ask(&state, alone, at: now)
        let later = state.lookedWhenCalled(foundWork: false, until: nil, at: now + .milliseconds(250))
        #expect(wait == .milliseconds(100) && next == .milliseconds(100) && later == .milliseconds(100))
        #expect(!state.isAwake)
    }

    /// For example for rows of a paused app. Each notification would slow down the commits of all who enqueue.
    @Test func `notifications without work make a worker sleep less often`() {
        var state = begin()
        var time = now
        var waits: [Duration] = []
        for _ in 0..<12 {
            waits.append(idleTime(state, from: time))
            time = time + .seconds(100)
            _ = ask(&state, alone, at: time)
            _ = state.lookedWhenCalled(foundWork: false, until: nil, at: time)
            let wait = state.lookedWhenCalled(foundWork: false, until: nil, at: time + .milliseconds(9))
            #expect(wait == nil && state.isAwake)
            state.announced()
        }
        #expect(waits[0] == .milliseconds(50) && waits[1] == .milliseconds(100) && waits[11] == .seconds(30))
    }

    @Test func `after short sleeps a worker waits longer before the next, and after a long one not`() {
        var state = begin()
        var time = now
        for (slept, expected) in [(99, 100), (20, 200), (0, 400), (100, 50), (5000, 50)] {
            _ = ask(&state, alone, at: time)
            time = time + .milliseconds(slept)
            _ = state.lookedWhenCalled(foundWork: true, until: nil, at: time)
            state.announced()
            #expect(idleTime(state, from: time) == .milliseconds(expected), "after \(slept) ms")
        }
    }

    @Test func `an awake worker does not care for calls`() {
        var state = begin()
        let mustLook = state.called()
        #expect(!mustLook)
    }

    // MARK: Refusals and losses

    @Test func `a worker with work left stays awake, and asks again after growing waits`() {
        var state = begin()
        var time = now
        var waits: [Duration] = []
        for _ in 0..<8 {
            waits.append(idleTime(state, from: time))
            time = time + .seconds(100)
            let wait = ask(&state, SleepRows(hasWork: true), at: time)
            #expect(wait == .zero && state.isAwake && !state.mustAnnounce)
        }
        #expect(waits[0] == .milliseconds(50) && waits[7] >= .milliseconds(2500) && waits[7] <= .seconds(5))
    }

    @Test func `work that is found after the worker was marked as asleep makes it announce itself`() {
        var state = begin()
        _ = ask(&state, SleepRows(isAlive: true, hasWork: true), at: now)
        #expect(state.isAwake && state.mustAnnounce && state.wokeByItself)
    }

    @Test func `a worker that has woken while its question was under way announces itself`() {
        var state = begin()
        state.fellAsleep(until: nil, at: now)
        state.wake(at: now)
        _ = state.returned(alone, after: .zero, at: now)
        #expect(state.isAwake && state.mustAnnounce)
    }

    @Test func `a slow look that finds work wakes the worker, and so does a takeover by others`() {
        for answer in [SleepRows(isAlive: true, hasWork: true), SleepRows(isAlive: false)] {
            var state = asleep(3)
            let wait = ask(&state, answer, at: now)
            #expect(wait == .zero && state.isAwake && state.mustAnnounce && state.wokeByItself)
        }
    }

    /// Also if PostgreSQL has refused it: a rollback does not undo the flag.
    @Test func `a question that failed is repeated, and the worker says that it is awake`() {
        for answers in 0...2 {
            var state = asleep(answers)
            if answers == 0 { state.fellAsleep(until: nil, at: now) }
            state.failed(at: now)
            #expect(state.isAwake && state.mustAnnounce)
            #expect((Duration.milliseconds(50)...Duration.milliseconds(100)).contains(idleTime(state, from: now)))
        }
    }

    @Test func `a worker that was declared dead and has registered again says that it is awake`() {
        var state = begin()
        state.registeredAgain()
        #expect(state.mustAnnounce)
    }

    @Test func `a new connection wakes a sleeper, because notifications may have been lost`() {
        var state = asleep(2)
        state.connected(canBeNotified: true)
        #expect(state.isAwake && state.mustAnnounce)
    }
}
