import ApplePushSimulator
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

/// One provider token for the fleet, and the gateway's answers to it.
@Suite struct ProviderTokenCases {
    @Test
    func `A3: eight workers with one signing key share one provider token, and later its one successor`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(100) }) { scene in
            let key = try SigningKey.generate()
            try await scene.sign(with: key)
            let first = try await scene.keep(key, mintedBefore: 2980)
            for _ in 0..<8 { _ = try scene.fleet.start(["--max-in-flight", "30"], lease: Fleet.calm) }
            for worker in scene.fleet.all { try await worker.started() }
            try await scene.underLoad {
                try await scene.eventually("eight connections use the second token") {
                    let later = scene.record.deliveries.filter { $0.authorization != first && $0.status == 200 }
                    return Set(later.map(\.connection)).count >= 8
                }
            }
            try await scene.finish()
            let tokens = Set(scene.record.deliveries.map(\.authorization))
            #expect(tokens.subtracting([first]).count == 1)
            #expect(scene.record.deliveries.allSatisfy { $0.status == 200 })
            let minted = scene.fleet.all.flatMap { $0.lines(containing: "Minted the provider token") }
            #expect(minted.count == 1)
            for worker in scene.fleet.all {
                for token in tokens.compactMap(\.self) { #expect(!worker.said.contains(token.dropFirst(7))) }
            }
        }
    }

    @Test(.scene, .enabled(if: FakeTime.isUsable, "no libfaketime (the package faketime), or a sanitizer"))
    func `A3: workers with wrong clocks make provider tokens by the database's clock`() async throws {
        try await scene.sign(with: try SigningKey.generate())
        for offset in ["+40m", "-40m"] {
            try await scene.client.run("DELETE FROM carillon.provider_tokens")
            let worker = try scene.fleet.start(lease: Fleet.calm, shell: FakeTime.shell(offset))
            try await worker.started()
            try await scene.enqueue(50)
            try await scene.drained()
            #expect(try await worker.stop() == .status(0))
        }
        try await scene.finish()
        let deliveries = scene.record.deliveries
        #expect(deliveries.allSatisfy { $0.status == 200 })
        #expect(Set(deliveries.map(\.authorization)).count == 2)
    }

    @Test func `A3: a token that has expired is replaced once, on new connections`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(50) }) { scene in
            let key = try SigningKey.generate()
            try await scene.sign(with: key)
            let old = try await scene.keep(key, mintedBefore: 3700, age: 1300)
            for _ in 0..<3 { _ = try await scene.fleet.started(["--max-in-flight", "50"], lease: Fleet.calm) }
            try await scene.enqueue(1000)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            let deliveries = scene.record.deliveries
            let refused = deliveries.filter { $0.status != 200 }
            #expect(refused.allSatisfy { $0.reason == "ExpiredProviderToken" && $0.authorization == old })
            // Each worker's first push is sent alone, and finds it out for all.
            #expect((1...3).contains(refused.count))
            #expect(Set(deliveries.map(\.authorization)).count == 2)
            let connections = Set(refused.map(\.connection))
            #expect(deliveries.allSatisfy { $0.status != 200 || !connections.contains($0.connection) })
        }
    }

    @Test
    func `A3: when the new provider token is refused as well the app waits, and no other is made`() async throws {
        try await Scene.with({
            $0.answers = [try AnswerRule(parsing: "ee=403:ExpiredProviderToken*2")]
        }) { scene in
            let key = try SigningKey.generate()
            try await scene.sign(with: key)
            let old = try await scene.keep(key, mintedBefore: 3700, age: 1300)
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(1, prefix: "ee")
            try await worker.says("next_attempt_in")
            try await scene.eventually("the row says why") {
                try await scene.credential("last_error").contains("ExpiredProviderToken")
            }
            // The old one is refused for its age, the new one twice: at once, and after a pause.
            try await scene.requests(3)
            try await scene.enqueue(100)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            let deliveries = scene.record.deliveries
            #expect(deliveries.prefix(3).allSatisfy { $0.reason == "ExpiredProviderToken" })
            #expect(deliveries.dropFirst(3).allSatisfy { $0.status == 200 })
            #expect(deliveries[0].authorization == old)
            #expect(Set(deliveries.dropFirst().map(\.authorization)).count == 1)
            #expect(worker.lines(containing: "Minted the provider token").count == 1)
            #expect(try await scene.credential("status") == "ok")
            #expect(try await scene.credential("last_error") == "")
        }
    }

    @Test(.scene, .enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `A3, D13: workers behind PgBouncer in transaction mode share one provider token`() async throws {
        let key = try SigningKey.generate()
        try await scene.sign(with: key)
        // It has expired: all workers need the next one at the same time.
        let old = try await scene.keep(key, mintedBefore: 3300)
        try await TestPooler.with(size: 2, as: .worker, before: scene.cluster, on: scene.loop) { pooler in
            let url = pooler.url(database: scene.database)
            for _ in 1...4 {
                let flags = ["--max-in-flight", "30"]
                _ = try scene.fleet.start(flags, lease: Fleet.calm, database: url)
            }
            for worker in scene.fleet.all { try await worker.started() }
            try await scene.underLoad {
                try await scene.eventually("each worker has sent something") {
                    Set(scene.record.deliveries.map(\.connection)).count >= 4
                }
            }
            try await scene.finish()
        }
        let deliveries = scene.record.deliveries
        #expect(deliveries.allSatisfy { $0.status == 200 && $0.authorization != old })
        #expect(Set(deliveries.map(\.authorization)).count == 1)
        let minted = scene.fleet.all.flatMap { $0.lines(containing: "Minted the provider token") }
        #expect(minted.count == 1)
        let errors = scene.fleet.all.flatMap { $0.lines(containing: "A statement failed") }
        #expect(errors.isEmpty)
    }

    @Test func `A4: after TooManyProviderTokenUpdates the fleet keeps the old provider token, and the queue waits`()
        async throws
    {
        try await Scene.with({
            $0.answers = [try AnswerRule(parsing: "ee=429:TooManyProviderTokenUpdates*1")]
        }) { scene in
            try await scene.sign(with: try SigningKey.generate())
            _ = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(10)
            try await scene.requests(10)
            try await scene.enqueue(1, prefix: "ee")
            try await scene.eventually("minting is at rest") {
                try await scene.client.text(
                    "SELECT p.rests_until > now() + interval '19 minutes' FROM carillon.provider_tokens p"
                ) == "true"
            }
            try await scene.enqueue(100)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            #expect(Set(scene.record.deliveries.map(\.authorization)).count == 1)
            #expect(try await scene.credential("status") == "ok")
        }
    }
}
