import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Workers that count as dead, and come back.
@Suite struct ZombieCases {
    @Test func `W6: a worker that was suspended for two leases writes nothing when it continues`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(200) }) { scene in
            let most = 300
            let zombie = try await scene.fleet.started(["--max-in-flight", "\(most)"])
            scene.record.at(most / 2, .received) { zombie.freeze() }
            try await scene.enqueue(Board.sized(1500, full: 10_000))
            try await scene.requests(most / 2)
            let other = try await scene.fleet.started()
            // Twice its lease.
            try await other.says("Took over the jobs")
            try await scene.livesOn(other, for: Fleet.lease)
            zombie.resume()
            try await scene.eventually("the zombie's outcomes came too late") {
                try await zombie.metric("carillon_stale_settlements_total") > 0
            }
            try await zombie.says("considered this worker dead")
            try await scene.finish(duplicates: most)
        }
    }

    @Test func `W24: a suspended worker whose database connections were cut loses nothing, and writes nothing later`()
        async throws
    {
        try await Scene.with({ $0.delay = .milliseconds(200) }) { scene in
            try await scene.withProxy { proxy, url in
                let most = 300
                let lease = Duration.seconds(5)
                let zombie = try scene.fleet.start(["--max-in-flight", "\(most)"], lease: lease, database: url)
                try await zombie.started()
                let id = try await scene.client.number(
                    "SELECT w.id FROM carillon.workers w WHERE w.pid = \(zombie.processID)"
                )
                scene.record.at(most / 2, .received) { zombie.freeze() }
                try await scene.enqueue(Board.sized(1500, full: 10_000))
                try await scene.requests(most / 2)
                await proxy.endAll(by: .reset)
                let other = try await scene.fleet.started(lease: lease)
                try await other.says("Took over the jobs")
                try await scene.livesOn(other, for: lease)
                let results = "SELECT count(*) FROM carillon.results r WHERE r.worker_id = \(id)"
                let written = try await scene.client.number(results)
                zombie.resume()
                try await zombie.says("considered this worker dead")
                try await scene.finish(duplicates: most)
                #expect(try await scene.client.number(results) == written)
            }
        }
    }
}
