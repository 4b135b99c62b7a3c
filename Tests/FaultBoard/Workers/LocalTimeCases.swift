import ApplePushSimulator
import CarillonPostgres
import Testing

/// Broadcasts at a local time while workers die.
@Suite struct LocalTimeCases {
    @Test func `W27: a broadcast at a local time loses nothing and reaches nobody twice while workers are killed`()
        async throws
    {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            let count = Board.sized(8_000, full: 80_000)
            let zones = 40
            try await scene.client.run(
                """
                INSERT INTO carillon.tokens (app_id, token, time_zone)
                SELECT a.id, lpad(to_hex(n), 64, '0'), z.name FROM carillon.apps a, generate_series(1, \(count)) n
                JOIN (SELECT name, row_number() OVER (ORDER BY name) AS place FROM pg_timezone_names
                    WHERE name LIKE 'America/%' LIMIT \(zones)) AS z ON z.place = 1 + n % \(zones);
                -- It lasts for ten seconds at least, so that workers are killed in the midst of it.
                UPDATE carillon.apps SET max_rate = \(count / 10)
                """
            )
            // What is in flight with a worker that dies fails, in place of being sent again.
            let id = try await scene.client.number(
                "carillon.broadcast('board', 'Board', run_at_local => '09:00', on_unknown => 'fail')"
            )
            #expect(try await scene.client.number("SELECT sum(cardinality(tokens)) FROM carillon.scheduled") == count)
            // The zones become due one after the other, within seconds and not hours.
            try await scene.client.run(
                "UPDATE carillon.scheduled s SET run_at = now() + s.id % \(zones) * interval '200 ms'"
            )
            try await scene.fleet.started(2, ["--max-in-flight", "100"])
            for kill in 1...3 {
                try await scene.requests(count * kill / 5)
                let victim = try #require(scene.fleet.running.first)
                victim.kill()
                try await victim.end()
                try await scene.fleet.started(["--max-in-flight", "100"])
            }
            try await scene.drained()
            let deliveries = scene.record.deliveries.map(\.token)
            #expect(Set(deliveries).count == deliveries.count)
            #expect(
                try await scene.client.text(
                    """
                    SELECT (count(*), sum(z.tokens), sum(z.sent + z.failed), sum(z.waiting))
                    FROM carillon.broadcast_zones(\(id)) AS z
                    """
                ) == "(\(zones),\(count),\(count),0)"
            )
            let failed = try await scene.client.number(
                "SELECT count(*) FROM carillon.failures WHERE reason <> 'OutcomeUnknown'"
            )
            #expect(failed == 0)
            #expect(try await scene.fleet.stop() == [])
        }
    }
}
