import ApplePush
import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct SettlementWritingTests {
    /// - Parameter isRest: A first part of the claim is settled.
    private func writing(jobs: Int, isRest: Bool = false) -> SettlementWriting {
        var builder = ClaimBuilder()
        for number in 0..<jobs { builder.add(tokens: ["aa0\(number % 10)"]) }
        let outcomes = Outcomes(repeating: .accepted, count: jobs)
        var generator = SeededGenerator(seed: 1)
        let settlement = Settlement(
            builder.jobs,
            outcomes,
            policy: RetryPolicy(),
            maxAttempts: 10,
            now: 0,
            using: &generator
        )
        var claim = UnsettledClaim(builder.jobs, claimedAs: 1, returnedAt: MonotonicInstant(nanoseconds: 0))
        if isRest { claim.progress = .partSettled(outcomes) }
        return SettlementWriting(claim, settlement, outcomes, hasRemainder: false)
    }

    private static let lostAnswer = PostgresError(.closed, "The connection is lost.", effect: .unknown)
    private static let notSent = PostgresError(.closed, "The connection is lost.")
    private static let refusal = PostgresError(.server, "violates a constraint", sqlState: "23514")

    @Test func `a settlement is usually one write`() {
        var writing = self.writing(jobs: 3, isRest: true)
        #expect(!writing.isOver)
        writing.callEnded(.written)
        #expect(writing.isWritten)
        #expect(writing.settlementNumber == 2)
    }

    @Test func `a claim that was taken over is not written`() {
        var writing = self.writing(jobs: 3)
        _ = writing.callFailed(with: Self.lostAnswer)
        writing.callEnded(.lost)
        #expect(writing.isOver && !writing.isWritten)
    }

    @Test func `a claim that is gone was written only if an answer was lost`() {
        var writing = self.writing(jobs: 3)
        _ = writing.callFailed(with: Self.lostAnswer)
        #expect(!writing.isOver)
        writing.callEnded(.before)
        #expect(writing.isWritten)
        var other = self.writing(jobs: 3)
        _ = other.callFailed(with: Self.notSent)
        other.callEnded(.before)
        #expect(other.isOver && !other.isWritten)
    }

    @Test func `a single job is tried several times and then given up`() {
        var writing = self.writing(jobs: 1)
        for _ in 0..<StatementRetries.tries {
            guard case .writeAgain(stuck: nil) = writing.callFailed(with: Self.refusal) else {
                Issue.record("A single job was halved, or is stuck already.")
                return
            }
        }
        guard case .unrecorded(job: 0) = writing.next else {
            Issue.record("The job was not given up.")
            return
        }
        writing.callEnded(.written)
        #expect(writing.isWritten)
        #expect(writing.unrecorded.map(\.job) == [0])
    }

    @Test(arguments: ["42501", "42P01", "42703", "42846", "42883", "42P13", "3F000", "25006"])
    func `an error of schema or rights is no fault of a job, unless a trigger raises it`(state: String) {
        var writing = self.writing(jobs: 3)
        var error = PostgresError(.server, "not now", sqlState: state)
        for _ in 0..<10 {
            guard case .writeAgain(stuck: nil) = writing.callFailed(with: error) else {
                Issue.record("The settlement was cut.")
                return
            }
        }
        guard case .settlement(let settlement) = writing.next else {
            Issue.record("A job was given up.")
            return
        }
        #expect(settlement.settled.count == 3)
        error.isOfTrigger = true
        if case .writeNext = writing.callFailed(with: error) {} else { #expect(state == "25006") }
    }

    /// Plays a database that refuses some jobs and loses some answers.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `only the jobs at fault are given up, whatever answers are lost`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...40, using: &random)
        let bad = Set((0..<Int32(count)).filter { _ in Int.random(in: 0..<12, using: &random) == 0 })
        var writing = self.writing(jobs: count)
        var inFlight = Set(0..<Int32(count))
        var settlementNumber: Int16 = 0
        var written: [Int32] = []
        var refused: [Int32] = []
        for _ in 0..<2000 {
            let jobs: [Int32]
            var isGivenUp = false
            switch writing.next {
            case .settlement(let settlement):
                jobs = settlement.settled
                #expect(
                    inFlight.isEmpty || writing.settlementNumber != settlementNumber
                        || Set(settlement.staying.map(\.job)).union(jobs) == inFlight
                )
            case .unrecorded(let job):
                jobs = [job]
                isGivenUp = true
            case .over(let isWritten):
                #expect(isWritten)
                #expect(inFlight.isEmpty)
                #expect(written.sorted() == (0..<Int32(count)).filter { !bad.contains($0) })
                #expect(Set(refused) == bad && refused.count == bad.count)
                #expect(writing.unrecorded.map(\.job).sorted() == bad.sorted())
                return
            }
            if Int.random(in: 0..<8, using: &random) == 0 {
                _ = writing.callFailed(with: Self.notSent)
                continue
            }
            guard writing.settlementNumber == settlementNumber else {
                writing.callEnded(.before)
                continue
            }
            if !isGivenUp, jobs.contains(where: bad.contains) {
                _ = writing.callFailed(with: Self.refusal)
                continue
            }
            inFlight.subtract(jobs)
            settlementNumber += 1
            if isGivenUp { refused += jobs } else { written += jobs }
            if Int.random(in: 0..<8, using: &random) == 0 {
                _ = writing.callFailed(with: Self.lostAnswer)
            } else {
                writing.callEnded(.written)
            }
        }
        Issue.record("It never ended.")
    }
}
