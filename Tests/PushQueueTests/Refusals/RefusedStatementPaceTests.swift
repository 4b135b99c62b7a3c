import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct RefusedStatementPaceTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let denied = PostgresError(.server, "permission denied", sqlState: "42501")

    @Test func `a few tries are made at once, and then about 11 a second`() {
        var pace = RefusedStatementPace(seed: 1)
        var times: [Int] = []
        for millisecond in 0..<5000 where pace.take(at: start + .milliseconds(millisecond)) {
            times.append(millisecond)
        }
        #expect(times.prefix(3) == [0, 1, 2])
        for second in 0..<5 { #expect(times.count { $0 / 1000 == second } <= 14) }
        #expect((55...62).contains(times.count))
    }

    @Test func `statements of a kind are limited after some that were refused, until one succeeds`() {
        var pace = RefusedStatementPace(seed: 1)
        #expect(!pace.limits(.turn, at: start))
        for _ in 0..<3 {
            #expect(!pace.limits(.turn, at: start))
            pace.refused(.turn, isTry: true, at: start)
        }
        #expect(pace.limits(.turn, at: start) && !pace.limits(.release, at: start))
        pace.succeeded(.turn)
        #expect(!pace.limits(.turn, at: start))
    }

    @Test func `a repeated statement is limited until none of its kind has been refused for half a second`() {
        var pace = RefusedStatementPace(seed: 1)
        #expect(!pace.limitsRepeated(.turn, at: start))
        pace.refused(.turn, isTry: true, at: start)
        #expect(pace.limitsRepeated(.turn, at: start + .seconds(60)) && !pace.limitsRepeated(.release, at: start))
        pace.succeeded(.turn)
        #expect(pace.limitsRepeated(.turn, at: start + .milliseconds(499)))
        #expect(!pace.limitsRepeated(.turn, at: start + .milliseconds(500)))
    }

    @Test func `refused statements with a pace of their own leave fewer tries to others, but some soon`() {
        var pace = RefusedStatementPace(seed: 1)
        for _ in 0..<5 { pace.spend(at: start) }
        let end = pace.waitEnd(at: start)
        #expect(end == start + RefusedStatementPace.interval * 3)
        for _ in 0..<100 { pace.spend(at: start) }
        #expect(pace.waitEnd(at: start) == start + .milliseconds(400))
        let taken = pace.take(at: start + .milliseconds(399))
        let takenLater = pace.take(at: start + .milliseconds(400))
        #expect(!taken && takenLater)
    }

    @Test func `new flights that are refused for their content leave tries to those that repeat`() {
        var state = WorkerState(WorkerOptions(), seed: 1)
        state.reconnection.connected(at: start)
        let refused = PostgresError(.server, "violates a constraint", sqlState: "23514")
        var flights: [(retries: StatementRetries, due: MonotonicInstant)] = []
        var (repeated, isRepeated) = (0, false)
        for tick in 0..<500 {
            let now = start + .milliseconds(tick * 10)
            if tick % 5 == 0 { flights.append((StatementRetries(), now)) }
            for index in flights.indices where flights[index].due <= now && flights[index].retries.mayRepeat {
                isRepeated = flights[index].due > start + .milliseconds(index * 50)
                if let wait = flights[index].retries.wait(before: .settlement, of: 1, &state, at: now) {
                    flights[index].due = now + wait
                } else {
                    repeated += isRepeated ? 1 : 0
                    flights[index].retries.failed(.settlement, with: refused, &state, at: now)
                    flights[index].due = now + (flights[index].retries.wait(&state) ?? .zero)
                    // One of another app.
                    state.refusals.succeeded(.settlement)
                }
            }
        }
        #expect((45...60).contains(repeated), "\(repeated)")
    }

    @Test func `flights that are refused are paced while others of their kind succeed`() {
        var state = WorkerState(WorkerOptions(), seed: 1)
        state.reconnection.connected(at: start)
        var flights = (0..<1000).map { _ in (retries: StatementRetries(), due: start) }
        var tries: [Int] = []
        for tick in 0..<500 {
            let now = start + .milliseconds(tick * 10)
            state.refusals.succeeded(.settlement)
            for index in flights.indices where flights[index].due <= now {
                if let wait = flights[index].retries.wait(before: .settlement, of: 1, &state, at: now) {
                    flights[index].due = now + wait
                } else {
                    tries.append(tick)
                    flights[index].retries.failed(.settlement, with: denied, &state, at: now)
                    flights[index].due = now + (flights[index].retries.wait(&state) ?? .zero)
                    state.refusals.succeeded(.settlement)
                }
            }
        }
        // The first is when so many are known to be refused.
        #expect(tries.prefix(20).allSatisfy { $0 == 0 } && tries.count { $0 / 100 == 0 } <= 40)
        for second in 1..<5 { #expect(tries.count { $0 / 100 == second } <= 20) }
        #expect(tries.count > 60)
    }

    @Test func `a thousand flights try what is refused at most 20 times a second, and continue soon after a success`() {
        var state = WorkerState(WorkerOptions(), seed: 1)
        state.reconnection.connected(at: start)
        var flights = (0..<1000).map { _ in (retries: StatementRetries(), due: start) }
        var tries: [Int] = []
        var ended = 0
        for tick in 0..<800 {
            let now = start + .milliseconds(tick * 10)
            for index in flights.indices where flights[index].due <= now {
                if let wait = flights[index].retries.wait(before: .settlement, of: 1, &state, at: now) {
                    flights[index].due = now + wait
                } else if tick < 500 {
                    tries.append(tick)
                    flights[index].retries.failed(.settlement, with: denied, &state, at: now)
                    flights[index].due = now + (flights[index].retries.wait(&state) ?? .zero)
                } else {
                    state.refusals.succeeded(.settlement)
                    flights[index].due = .distantFuture
                    ended += 1
                }
            }
        }
        for second in 0..<5 { #expect(tries.count { $0 / 100 == second } <= 20) }
        #expect(tries.count > 50)
        #expect(ended == 1000)
    }
}
