import ApplePushSimulator
import CarillonIO
import Testing

/// Background pushes of an app with `max_per_device`.
@Suite struct PacingCases {
    @Test func `P17: no device gets more background pushes an hour than it may, while workers die, and each push ends`()
        async throws
    {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ab=503:ServiceUnavailable*1")] }) { scene in
            let (devices, rounds, most) = (Board.sized(100, full: 500), 12, 3)
            try await scene.client.run("UPDATE carillon.apps SET max_per_device = \(most)")
            let workers = try await scene.fleet.started(2)
            scene.record.at(devices / 2, .received) { workers[0].kill() }
            scene.record.at(devices * 2, .received) { workers[1].kill() }
            for round in 1...rounds {
                try await scene.client.run(
                    """
                    SELECT carillon.enqueue('\(Scene.app)', ARRAY['ab' || lpad(n::text, 62, '0')], content_available => true,
                        reference => 'p\(round)-' || n) FROM generate_series(1, \(devices)) AS n
                    """
                )
                if round == rounds / 2 { try await scene.fleet.started(2) }
            }
            // One push of each device waits for the next hour.
            let waiting = "SELECT count(*) FROM carillon.scheduled WHERE run_at > now() + interval '30 minutes'"
            try await scene.eventually("each device has had its pushes, and one waits") {
                let pending = try await scene.client.number("SELECT count(*) FROM carillon.pending")
                return try await scene.client.number(waiting) == devices && pending == devices
            }
            // The same push may have come twice, as a killed worker has told nobody of its first answer.
            for (token, sends) in Dictionary(grouping: scene.record.deliveries.filter { $0.status == 200 }, by: \.token)
            {
                #expect(Set(sends.map(\.apnsID)).count <= most, "\(token)")
            }
            // An hour later.
            try await scene.client.run(
                """
                WITH moved AS (
                    UPDATE carillon.device_slots d SET slots = ARRAY(SELECT ROW(s.at - interval '61 minutes', s.message_id,
                        s.meaning)::carillon.device_slot FROM unnest(d.slots) AS s)
                )
                UPDATE carillon.scheduled SET run_at = run_at - interval '61 minutes'
                """
            )
            try await scene.drained()
            for end in try await scene.fleet.stop() { Issue.record("\(end)") }
            let ended = "sum(sent + cancelled) FILTER (WHERE sent + failed + expired + cancelled = 1)"
            #expect(try await scene.client.number("SELECT \(ended) FROM carillon.results") == devices * rounds)
            #expect(try await scene.client.number("SELECT sum(sent) FROM carillon.results") == devices * (most + 1))
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
        }
    }
}
