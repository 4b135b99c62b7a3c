import ApplePush
import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct SettlementTests {
    private let now: Int64 = 1_800_000_000_000_000

    private func settle(
        _ claim: ClaimBuilder,
        _ outcomes: [Outcome],
        after earlier: [Outcome]? = nil,
        maxAttempts: Int16 = 10,
        keepsSent: Bool = false,
        triesOtherEnvironment: Bool = false
    ) -> Settlement {
        var generator = SeededGenerator(seed: 1)
        return Settlement(
            claim.jobs,
            Outcomes(outcomes),
            after: earlier.map { Outcomes($0) },
            policy: RetryPolicy(),
            maxAttempts: maxAttempts,
            now: now,
            keepsSent: keepsSent,
            triesOtherEnvironment: triesOtherEnvironment,
            using: &generator
        )
    }

    private func rejected(_ status: UInt16, _ name: String, timestamp: Int64? = nil) -> Outcome {
        Outcome(.rejected, status: status, reason: Reason(name: name) ?? .none, timestamp: timestamp)
    }

    @Test func `a job whose pushes are accepted ends`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb", "cc"])
        let settlement = settle(claim, [.accepted, .accepted, .accepted])
        #expect(settlement.ended.map(\.sent) == [1, 2])
        #expect(settlement.partial.isEmpty && settlement.failures.isEmpty && settlement.goingBack.isEmpty)
        #expect(settlement.tally.sent == 3)
        #expect(Hold(Outcomes([.accepted, .accepted, .accepted])) == nil)
    }

    @Test func `an app that keeps sent pushes keeps those that were accepted, and no other app keeps any`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb", "cc", "dd"])
        let outcomes: [Outcome] = [.accepted, .accepted, rejected(410, "Unregistered"), .accepted]
        #expect(settle(claim, outcomes).kept.isEmpty)
        let kept = settle(claim, outcomes, keepsSent: true).kept
        #expect(kept.map(\.push) == [0, 1, 3] && kept.map(\.job) == [0, 1, 1])
    }

    @Test func `a token that fails as BadDeviceToken goes back alone to be tried in the other environment`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "cc", "dd"])
        claim.add(tokens: ["ee"])
        let bad = rejected(400, "BadDeviceToken")
        let outcomes: [Outcome] = [.accepted, bad, rejected(503, "ServiceUnavailable"), rejected(400, "BadTopic"), bad]
        let settlement = settle(claim, outcomes, triesOtherEnvironment: true)
        #expect(settlement.goingBack.map(\.pushes) == [[2], [1], [4]])
        #expect(settlement.goingBack.map(\.isWhole) == [false, false, true])
        #expect(settlement.goingBack.map(\.attempt) == [2, 1, 1])
        #expect(
            settlement.goingBack.map(\.cause?.reason) == ["ServiceUnavailable", "BadDeviceToken", "BadDeviceToken"]
        )
        #expect(settlement.failures.map(\.reason) == ["BadTopic"])
        #expect(settlement.tally.badTokens == 0)
        #expect(settle(claim, outcomes).failures.map(\.reason) == ["BadDeviceToken", "BadTopic", "BadDeviceToken"])
    }

    /// A random claim, with a random outcome for each push.
    private func claim(using generator: inout SeededGenerator) -> (ClaimBuilder, [Outcome]) {
        let outcomes: [Outcome] = [
            .accepted, rejected(410, "Unregistered"), rejected(400, "BadDeviceToken"),
            rejected(429, "TooManyRequests"), rejected(503, "ServiceUnavailable"), Outcome(.safe),
            Outcome(.unknown), rejected(403, "InvalidProviderToken"),
        ]
        var claim = ClaimBuilder()
        let hasBadTokens = Bool.random(using: &generator)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            claim.add(
                tokens: (0..<Int.random(in: 0...5, using: &generator)).map { "aa0\($0)" }
                    + (hasBadTokens ? ["bad"] : []),
                origin: Bool.random(using: &generator) ? 77 : nil,
                attempt: Int16.random(in: 1...4, using: &generator),
                mayRepeat: Bool.random(using: &generator)
            )
        }
        return (claim, (0..<claim.jobs.batch.count).compactMap { _ in outcomes.randomElement(using: &generator) })
    }

    @Test func `each push is counted once, with any outcome`() {
        var generator = SeededGenerator(seed: 99)
        for _ in 0..<500 {
            let (claim, given) = claim(using: &generator)
            let settlement = settle(claim, given, maxAttempts: 3)
            let tally = settlement.tally
            #expect(tally.sent + tally.failed + tally.expired + tally.retried + tally.returned == claim.jobs.tokens)
            #expect(settlement.failures.count == tally.failed)
            let again = settlement.goingBack.flatMap(\.pushes)
            #expect(again.count == tally.retried + tally.returned)
            #expect(Set(again).count == again.count)
            // A job is ended, in part or whole, or goes back whole: one of them, and only once.
            let jobs =
                settlement.ended.map(\.job) + settlement.partial.map(\.job)
                + settlement.goingBack.filter(\.isWhole).map(\.job)
            #expect(jobs.sorted() == Array(0..<Int32(claim.jobs.count)))
        }
    }

    @Test func `each push is counted once in two parts too`() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let (claim, given) = claim(using: &generator)
            let early = given.map { Bool.random(using: &generator) ? $0 : .pending }
            let first = settle(claim, early)
            let second = settle(claim, given, after: early)
            #expect(second.staying.isEmpty)
            #expect(first.staying.flatMap(\.pushes).count == first.pending)
            #expect(first.pending == early.count { $0.verdict == .pending })
            var tally = first.tally
            tally += second.tally
            #expect(tally.sent + tally.failed + tally.expired + tally.retried + tally.returned == claim.jobs.tokens)
            #expect(tally.sent == given.count { $0 == .accepted })
            #expect(tally.unknown == given.count { $0.verdict == .unknown })
            #expect(first.failures.count + second.failures.count == tally.failed)
            let again = (first.goingBack + second.goingBack).flatMap(\.pushes)
            #expect(again.count == tally.retried + tally.returned)
            #expect(Set(again).count == again.count)
            // What stays is what the second part is about, and all of it.
            #expect(second.settled == first.staying.map(\.job))
            for jobTally in first.ended { #expect(!first.staying.contains { $0.job == jobTally.job }) }
            // A message that is not settled in one piece is known to be unfinished before its last part is written.
            for jobTally in second.ended { #expect(first.staying.contains { $0.job == jobTally.job && $0.isWhole }) }
            for jobTally in second.partial where claim.jobs[jobTally.job].origin == nil && jobTally.isInUnfinished {
                let before = first.partial.first { $0.job == jobTally.job }
                #expect(before.map { $0.pending == jobTally.ended + jobTally.goingBack } == true)
            }
        }
    }

    @Test func `a job is settled in the same way whether all its pushes were answered early or late`() {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<500 {
            var claim = ClaimBuilder()
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                let tokens = (0..<Int.random(in: 1...4, using: &generator)).map { "aa0\($0)" }
                claim.add(tokens: tokens, origin: Bool.random(using: &generator) ? 77 : nil)
            }
            let outcomes: [Outcome] = [.accepted, .accepted, rejected(410, "Unregistered"), rejected(503, "Shutdown")]
            let given = (0..<claim.jobs.batch.count).compactMap { _ in outcomes.randomElement(using: &generator) }
            let early = settle(claim, given)
            let late = settle(claim, given, after: given.map { _ in .pending })
            #expect(early.ended == late.ended && early.partial == late.partial)
            #expect(early.failures == late.failures && early.goingBack == late.goingBack)
            #expect(early.tally == late.tally)
        }
    }

    @Test func `a job whose pushes are all pending stays unchanged`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"])
        claim.add(tokens: ["cc"])
        let settlement = settle(claim, [.pending, .pending, .accepted])
        #expect(settlement.staying == [Settlement.Staying(job: 0, pushes: [0, 1], isWhole: true)])
        #expect(settlement.partial.isEmpty)
        #expect(settlement.ended.map(\.job) == [1])
    }

    @Test func `the rest of a job that has ended in part stays, and its message is unfinished`() throws {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "bad", "cc"])
        let early: [Outcome] = [.accepted, .pending, rejected(503, "Shutdown")]
        let first = settle(claim, early)
        #expect(first.staying == [Settlement.Staying(job: 0, pushes: [1], isWhole: false)])
        let part = try #require(first.partial.first)
        #expect(part.sent == 1 && part.failed == 1 && part.remaining == 2 && !part.isInUnfinished)
        #expect(first.goingBack.map(\.isWhole) == [false])
        let second = settle(claim, [.accepted, .accepted, rejected(503, "Shutdown")], after: early)
        let rest = try #require(second.partial.first)
        #expect(rest.sent == 1 && rest.failed == 0 && rest.remaining == 0 && rest.isInUnfinished)
        #expect(second.ended.isEmpty && second.goingBack.isEmpty)
        // All that is left may go back whole.
        let unsent = settle(claim, [.accepted, Outcome(.safe), rejected(503, "Shutdown")], after: early)
        #expect(unsent.goingBack.map(\.isWhole) == [true])
        #expect(unsent.partial.isEmpty)
    }

    @Test func `unsent pushes wait a moment if the gateway answered others`() throws {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb"])
        let settlement = settle(claim, [Outcome(.safe), rejected(400, "BadDeviceToken")])
        let back = try #require(settlement.goingBack.first)
        #expect(back.isWhole && back.attempt == 1)
        let delay = try #require(back.delay)
        #expect((100...1000).contains(delay))
        #expect(settlement.lowestGoingBack(of: claim.jobs) == nil)
    }

    @Test func `a job that goes back whole is not recorded as a part`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"])
        let settlement = settle(claim, [Outcome(.safe), Outcome(.safe)])
        #expect(settlement.goingBack.map(\.isWhole) == [true])
        #expect(settlement.goingBack.map(\.attempt) == [1])
        #expect(settlement.goingBack.map(\.delay) == [nil])
        #expect(settlement.ended.isEmpty && settlement.partial.isEmpty)
    }

    @Test func `a retry counts as an attempt and waits`() throws {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"], attempt: 2)
        let settlement = settle(claim, [Outcome(.rejected, status: 503, retryAfter: 30)])
        let retry = try #require(settlement.goingBack.first)
        #expect(retry.attempt == 3)
        #expect(try #require(retry.delay) >= 30000)
    }

    @Test func `the last attempt fails with its own reason`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"], attempt: 3)
        let settlement = settle(claim, [rejected(503, "Shutdown")], maxAttempts: 3)
        #expect(settlement.failures.map(\.reason) == ["Shutdown"])
        #expect(settlement.failures.map(\.status) == [503])
    }

    @Test func `pushes expire if their retry would be due too late`() {
        var claim = ClaimBuilder(claimedAt: now)
        claim.add(tokens: ["aa"], expiresAt: now + 1_000_000)
        let settlement = settle(claim, [Outcome(.rejected, status: 503, retryAfter: 2)])
        #expect(settlement.tally.expired == 1)
        #expect(settlement.goingBack.isEmpty)
        #expect(settlement.ended.map(\.expired) == [1])
    }

    @Test func `which pushes of a job expire is told, because others of it may have been sent`() {
        var claim = ClaimBuilder(claimedAt: now)
        claim.add(tokens: ["aa", "bb", "cc"], expiresAt: now + 1_000_000)
        let late = Outcome(.rejected, status: 503, retryAfter: 2)
        let settlement = settle(claim, [late, .accepted, late])
        #expect(settlement.ended.map(\.sent) == [1])
        #expect(settlement.expired.map(\.job) == [0, 0])
        #expect(settlement.expired.map(\.push) == [0, 2])
    }

    @Test func `a dead token is dated by Apple's timestamp, or by the claim`() {
        let claimedAt = now - 3_000_000
        var claim = ClaimBuilder(claimedAt: claimedAt)
        claim.add(tokens: ["aa", "bb", "cc"])
        let settlement = settle(
            claim,
            [
                rejected(410, "Unregistered", timestamp: 1_700_000_000_123), rejected(410, "ExpiredToken"),
                rejected(400, "BadDeviceToken"),
            ]
        )
        #expect(settlement.failures.map(\.unregisteredAt?.microseconds) == [1_700_000_000_123_000, claimedAt, nil])
        #expect(settlement.tally.badTokens == 1)
    }

    @Test(arguments: [
        (403, "BadCertificate", Hold.Kind.credential), (403, "ExpiredProviderToken", .providerToken),
        (429, "TooManyProviderTokenUpdates", .tokenUpdates),
    ])
    func `a refused credential holds the app, and fails no push`(status: UInt16, reason: String, kind: Hold.Kind) {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        let settlement = settle(claim, [rejected(status, reason)])
        #expect(Hold(Outcomes([rejected(status, reason)]))?.kind == kind)
        #expect(settlement.tally.returned == 1)
        #expect(settlement.failures.isEmpty)
    }

    @Test func `without a connection all pushes go back, and the app is held`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb"], mayRepeat: false)
        #expect(settle(claim, [Outcome(.safe), Outcome(.safe)]).tally.returned == 2)
        var outcomes = Outcomes([Outcome(.safe), Outcome(.safe)])
        outcomes.connectFailure = PushError(.unreachable, "Nobody answers.")
        #expect(Hold(outcomes) == Hold(.connection, "Nobody answers."))
    }

    @Test func `jobs of a split message report their progress`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "cc"], origin: 5)
        let settlement = settle(claim, [.accepted, Outcome(.unknown), rejected(410, "Unregistered")])
        #expect(settlement.partial.map(\.sent) == [1])
        #expect(settlement.partial.map(\.failed) == [1])
        #expect(settlement.partial.map(\.retried) == [1])
        #expect(settlement.goingBack.map(\.isWhole) == [false])
    }
}

extension Outcomes {
    init(_ outcomes: [Outcome]) {
        self.init(repeating: .accepted, count: outcomes.count)
        for (place, outcome) in outcomes.enumerated() { self[place] = outcome }
    }
}
