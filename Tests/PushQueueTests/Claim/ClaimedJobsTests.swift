import ApplePush
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

@Suite struct ClaimedJobsTests {
    @Test func `the wait of a first attempt is counted, whatever created_at is`() {
        var claim = ClaimBuilder(claimedAt: 10_000_000)
        claim.reader.waited(since: 9_999_000, attempt: 1)
        claim.reader.waited(since: .min, attempt: 1)
        claim.reader.waited(since: .max, attempt: 1)
        claim.reader.waited(since: 0, attempt: 2)
        #expect(claim.jobs.waits.count == 3)
        #expect(claim.jobs.waits.counts.first == 2)
        #expect(claim.jobs.waits.counts.last == 1)
    }

    @Test func `each token has its own payload, and equal ones that follow each other are stored once`() {
        var claim = ClaimBuilder()
        claim.add(
            tokens: ["aa", "bb", "AA", "cc", "dd", "xx", "ee"],
            payloads: ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"n\":4}", "{}", nil]
        )
        claim.add(tokens: ["ff"], payload: "{}")
        let batch = claim.jobs.batch
        let sent = (0..<batch.count).map {
            "\(batch.token(of: $0)) \(String(decoding: batch.payload(of: $0), as: UTF8.self))"
        }
        #expect(sent == ["aa {\"n\":1}", "bb {\"n\":2}", "cc {\"n\":4}", "dd {\"n\":4}", "ff {}"])
        #expect(batch.headings.count == 6)
        #expect(claim.jobs.refusedPushes.map(\.reason) == [.malformedToken, .payloadEmpty])
    }

    @Test func `a malformed token is the same reason to the worker and to the library`() {
        #expect(LocalReason.malformedToken.name == Reason.malformedToken.name)
    }

    @Test func `a job without one payload for each token is refused as a whole`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"], payloads: ["{}"])
        claim.add(tokens: ["aa"], payload: nil)
        #expect(claim.jobs.batch.isEmpty)
        #expect(claim.jobs.refusedPushes.map(\.reason) == [.mismatchedPayloads, .mismatchedPayloads, .payloadEmpty])
    }

    @Test func `the batch has the pushes job by job, each token once`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "aa"])
        claim.add(tokens: ["aa", "AA"])
        #expect(claim.jobs.batch.count == 3)
        #expect((0..<3).map { claim.jobs.batch.token(of: $0) } == ["aa", "bb", "aa"])
        #expect(claim.jobs.jobs.map(\.pushes) == [2, 1])
        #expect(claim.jobs.jobs.map(\.firstPush) == [0, 2])
        #expect(claim.jobs.tokens == 3)
    }

    @Test func `the identity of a push is derived from the original message and the token in lower case`() {
        var original = ClaimBuilder()
        original.add(tokens: ["abcd"])
        var retry = ClaimBuilder()
        retry.add(tokens: ["ff"])
        retry.add(tokens: ["ABCD"], origin: 1)
        #expect(original.jobs.batch.id(of: 0) == retry.jobs.batch.id(of: 1))
        #expect(retry.jobs.batch.id(of: 0) != retry.jobs.batch.id(of: 1))
    }

    @Test func `expired jobs are not in the batch`() {
        var claim = ClaimBuilder(claimedAt: 5_000_000)
        claim.add(tokens: ["aa", "bb"], expiresAt: 5_000_000)
        claim.add(tokens: ["cc"], expiresAt: 5_000_001)
        #expect(claim.jobs.batch.count == 1)
        #expect(claim.jobs.jobs.map(\.expired) == [2, 0])
        #expect(claim.jobs.batch.expiration(of: 0) == 5)
    }

    @Test func `a refused token is kept with its reason`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "zz", "a", ""])
        claim.add(tokens: ["bb"], payload: "[]")
        claim.add(tokens: ["cc"], priority: 3)
        claim.add(tokens: ["dd"], appIsKnown: false)
        #expect(claim.jobs.batch.count == 1)
        #expect(
            claim.jobs.refusedPushes.map(\.reason) == [
                .malformedToken, .malformedToken, .malformedToken, .malformedPayload, .unknownPriority, .unknownApp,
            ]
        )
    }

    @Test func `every text of a job counts toward the bytes of the claim`() {
        func bytes(_ add: (inout ClaimBuilder) -> Void) -> Int {
            var claim = ClaimBuilder()
            add(&claim)
            return claim.jobs.byteCount
        }
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        let usual = bytes { $0.add(tokens: ["aa"]) }
        #expect(usual == 2 + 10 + 15, "the token, the payload and the topic")
        for (name, count, changed) in [
            ("reference", 1_024, bytes { $0.add(tokens: ["aa"], reference: text(1_024)) }),
            ("collapse id", 64, bytes { $0.add(tokens: ["aa"], collapseID: text(64)) }),
            ("topic", 240, bytes { $0.add(tokens: ["aa"], topic: text(255)) }),
            ("payload", 3_998, bytes { $0.add(tokens: ["aa"], payload: #"{"a":""# + text(4_000) + #""}"#) }),
            ("malformed token", 301, bytes { $0.add(tokens: ["aa", text(301)]) }),
        ] {
            #expect(changed == usual + count, "\(name)")
        }
    }

    /// While its claims have many bytes, a worker makes no other.
    @Test(.demo) func `all columns that are read from a row count toward the bytes of the claim`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'one', 'infinity');
            INSERT INTO carillon.messages (app_id, tokens, payload, collapse_id, reference) VALUES (1, '{aa,zz}',
                ('{"a":"' || repeat('x', 4000) || '"}')::json, repeat('c', 60), repeat('r', 1000))
            """
        )
        let apps = try await RoutedApp.all(on: database.connection)
        let plan = ClaimPlan(lane: Lane(app: 1, number: 1), depth: .deep, floor: 0, rows: 10, pushes: 10)
        let parameters = ClaimStatement.parameters(plan, worker: 1, maxBytes: 100_000)
        let answer = try await database.connection.query(ClaimStatement.statement, parameters) { rows in
            try ClaimRows(rows, plan, app: apps.first, installation: (1, 2))
        }
        let jobs = try #require(answer.jobs)
        #expect(jobs.byteCount == 2 + 2 + 4008 + "com.example.demo".utf8.count + 60 + 1000)
    }

    @Test func `jobs keep their references and refused tokens when pushes before them are dropped`() {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb", "xx"], reference: "first")
        claim.add(tokens: ["cc"], reference: "second")
        claim.add(tokens: ["yyy", "dd"], reference: "third")
        var jobs = claim.jobs
        jobs.keep([0, 2], [.later, .superseded])
        let text = { (range: ByteRange) in String(decoding: jobs.batch.bytes[range.range], as: UTF8.self) }
        #expect(jobs.jobs.map { $0.reference.map(text) } == ["first", "third"])
        #expect(jobs.refusedPushes.map { text($0.token) } == ["xx", "yyy"])
        #expect(jobs.refusedPushes.map(\.job) == [0, 1])
        #expect((0..<jobs.batch.count).map(jobs.batch.token(of:)) == ["bb", "dd"])
    }

    @Test(arguments: [(4096, true), (4097, false)]) func `the limit of a payload is exact to the byte`(
        size: Int,
        fits: Bool
    ) {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"], payload: #"{"a":""# + String(repeating: "x", count: size - 8) + #""}"#)
        #expect(claim.jobs.batch.isEmpty == !fits)
    }
}
