import ApplePush
import Testing

@testable import PushQueue

@Suite struct SettlementTests {
    private let now: Int64 = 1_000_000_000_000

    private func settle(
        _ claim: ClaimBuilder,
        _ outcomes: [Outcome],
        mostAttempts: Int16 = 10,
        failure: PushError? = nil
    ) -> Settlement {
        var all = Outcomes(repeating: .delivered, count: outcomes.count)
        for (place, outcome) in outcomes.enumerated() { all[place] = outcome }
        all.connectFailure = failure
        var generator = SeededGenerator(seed: 1)
        return Settlement(
            claim.jobs,
            all,
            policy: RetryPolicy(),
            mostAttempts: mostAttempts,
            now: self.now,
            using: &generator
        )
    }

    private func rejected(_ status: UInt16, _ name: String, timestamp: Int64? = nil) -> Outcome {
        Outcome(.rejected, status: status, reason: Reason(name: name) ?? .none, timestamp: timestamp)
    }

    @Test func `delivered pushes end their job`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb", "cc"])
        let settlement = self.settle(claim, [.delivered, .delivered, .delivered])
        #expect(settlement.ended.map(\.sent) == [1, 2])
        #expect(settlement.parts.isEmpty && settlement.failures.isEmpty && settlement.returns.isEmpty)
        #expect(settlement.tally.sent == 3)
        #expect(settlement.trouble == nil)
    }

    @Test func `each push counts exactly once, whatever comes of it`() {
        var generator = SeededGenerator(seed: 99)
        let outcomes: [Outcome] = [
            .delivered, self.rejected(410, "Unregistered"), self.rejected(400, "BadDeviceToken"),
            self.rejected(429, "TooManyRequests"), self.rejected(503, "ServiceUnavailable"), Outcome(.safe),
            Outcome(.unknown), self.rejected(403, "InvalidProviderToken"),
        ]
        for round in 0..<500 {
            var claim = ClaimBuilder()
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let tokens =
                    (0..<Int.random(in: 0...5, using: &generator)).map { "aa0\($0)" } + ["bad"].prefix(round % 2)
                claim.add(
                    tokens: tokens,
                    origin: Bool.random(using: &generator) ? 77 : nil,
                    attempt: Int16.random(in: 1...4, using: &generator),
                    mayRepeat: Bool.random(using: &generator)
                )
            }
            let given = (0..<claim.jobs.batch.count).compactMap { _ in outcomes.randomElement(using: &generator) }
            let settlement = self.settle(claim, given, mostAttempts: 3)
            let tally = settlement.tally
            #expect(tally.sent + tally.failed + tally.expired + tally.retried + tally.returned == claim.jobs.tokens)
            #expect(settlement.failures.count == tally.failed)
            let again = settlement.returns.flatMap(\.pushes)
            #expect(again.count == tally.retried + tally.returned)
            #expect(Set(again).count == again.count)
            // A job is ended, in part or whole, or goes back whole: one of them, and only once.
            let jobs =
                settlement.ended.map(\.job) + settlement.parts.map(\.job)
                + settlement.returns.filter(\.isWhole).map(\.job)
            #expect(jobs.sorted() == Array(0..<Int32(claim.jobs.count)))
        }
    }

    @Test func `a job that goes back whole makes no progress`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"])
        let settlement = self.settle(claim, [Outcome(.safe), Outcome(.safe)])
        #expect(settlement.returns.map(\.isWhole) == [true])
        #expect(settlement.returns.map(\.attempt) == [1])
        #expect(settlement.returns.map(\.delay) == [nil])
        #expect(settlement.ended.isEmpty && settlement.parts.isEmpty)
    }

    @Test func `a retry counts as an attempt and waits`() throws {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"], attempt: 2)
        let settlement = self.settle(claim, [Outcome(.rejected, status: 503, retryAfter: 30)])
        let retry = try #require(settlement.returns.first)
        #expect(retry.attempt == 3)
        #expect(try #require(retry.delay) >= 30000)
    }

    @Test func `the last attempt fails with its own reason`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"], attempt: 3)
        let settlement = self.settle(claim, [self.rejected(503, "Shutdown")], mostAttempts: 3)
        #expect(settlement.failures.map(\.reason) == ["Shutdown"])
        #expect(settlement.failures.map(\.status) == [503])
    }

    @Test func `what would be retried after its end expires`() {
        var claim = ClaimBuilder(claimedAt: self.now)
        claim.add(tokens: ["aa"], expiresAt: self.now + 1_000_000)
        let settlement = self.settle(claim, [Outcome(.rejected, status: 503, retryAfter: 2)])
        #expect(settlement.tally.expired == 1)
        #expect(settlement.returns.isEmpty)
        #expect(settlement.ended.map(\.expired) == [1])
    }

    @Test func `a dead token has Apple's time of death, or now`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "cc"])
        let settlement = self.settle(
            claim,
            [
                self.rejected(410, "Unregistered", timestamp: 1_700_000_000_123), self.rejected(410, "ExpiredToken"),
                self.rejected(410, "Unregistered", timestamp: .max),
            ]
        )
        #expect(settlement.failures.map(\.unregisteredAt) == [1_700_000_000_123_000, self.now, self.now])
    }

    @Test(arguments: [
        (403, "BadCertificate", Trouble.Kind.credential), (403, "ExpiredProviderToken", .providerToken),
        (429, "TooManyProviderTokenUpdates", .providerToken),
    ])
    func `a credential's trouble is the app's, and no push fails for it`(
        status: UInt16,
        reason: String,
        kind: Trouble.Kind
    ) {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        let settlement = self.settle(claim, [self.rejected(status, reason)])
        #expect(settlement.trouble?.kind == kind)
        #expect(settlement.tally.returned == 1)
        #expect(settlement.failures.isEmpty)
    }

    @Test func `without a connection everything goes back, and the app is in trouble`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        claim.add(tokens: ["bb"], mayRepeat: false)
        let failure = PushError(.unreachable, "Nobody answers.")
        let settlement = self.settle(claim, [Outcome(.safe), Outcome(.safe)], failure: failure)
        #expect(settlement.trouble == Trouble(.connection, "Nobody answers."))
        #expect(settlement.tally.returned == 2)
    }

    @Test func `parts of a message report their progress`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "cc"], origin: 5)
        let settlement = self.settle(claim, [.delivered, Outcome(.unknown), self.rejected(410, "Unregistered")])
        #expect(settlement.parts.map(\.sent) == [1])
        #expect(settlement.parts.map(\.failed) == [1])
        #expect(settlement.parts.map(\.returned) == [1])
        #expect(settlement.returns.map(\.isWhole) == [false])
    }
}
