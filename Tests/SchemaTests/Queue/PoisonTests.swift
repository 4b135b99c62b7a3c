import TestSupport
import Testing

/// A push that kills every worker fails alone, whatever jobs were claimed with it.
@Suite(.demo) struct PoisonTests {
    /// Workers claim all they can, die if one push is among them, and deliver everything else.
    private func work(_ database: TestDatabase, culprit: String, deaths: Int) async throws {
        for _ in 0..<deaths + 100 {
            let worker = try await database.addWorker()
            var isDeadly = false
            var claimed = 0
            while true {
                let jobs = try await database.claim(by: worker)
                if jobs.isEmpty { break }
                claimed += jobs.count
                isDeadly = isDeadly || jobs.contains { $0.tokens.contains(culprit) }
            }
            if isDeadly {
                try await database.bury(worker)
            } else {
                try await database.settleAll(of: worker)
                try await database.run("DELETE FROM carillon.workers WHERE id = \(worker)")
            }
            if claimed == 0 { return }
        }
        Issue.record("the queue was never empty")
    }

    @Test func `of jobs that are claimed together, only the one that kills workers fails as Poison`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, ARRAY[lpad(to_hex(i), 4, '0')], '{"aps":{}}' FROM generate_series(1, 30) i
            """
        )
        // After the third, 15 of 30 are in flight together, then 7, 3 and 1, which is repeated once.
        try await work(database, culprit: "000a", deaths: 8)
        #expect(
            try await database.rows("SELECT message_id, token, reason FROM carillon.failures") == ["(10,000a,Poison)"]
        )
        #expect(
            try await database.rows("SELECT count(*), sum(sent), sum(failed) FROM carillon.results") == ["(30,29,1)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
    }

    @Test
    func `of the tokens of a message, only the one that kills workers fails as Poison, and the message has one result`()
        async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            VALUES (1, '{aa,bb,BB,cc,dd}', '{"aps":{}}', 'r'), (1, '{ee}', '{"aps":{}}', 's')
            """
        )
        try await work(database, culprit: "cc", deaths: 6)
        #expect(
            try await database.rows("SELECT message_id, token, reason, reference FROM carillon.failures") == [
                "(1,cc,Poison,r)"
            ]
        )
        #expect(
            try await database.rows("SELECT message_id, sent, failed FROM carillon.results ORDER BY 1") == [
                "(1,3,1)", "(2,1,0)",
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.unfinished") == "0")
    }

    @Test
    func `quarantined jobs with as many lost claims are claimed together, and a worker has one such claim at a time`()
        async throws
    {
        // Of those with 10 lost claims three are in flight together, of those with 11 one.
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, lost_claims)
            SELECT 1, ARRAY[lpad(to_hex(i), 4, '0')], '{}',
                CASE WHEN i IN (1, 2, 5, 7) THEN 10 WHEN i IN (8, 9) THEN 11 ELSE 0 END
            FROM generate_series(1, 10) i
            """
        )
        let first = try await database.addWorker()
        let second = try await database.addWorker()
        #expect(try await database.claim(by: first).map(\.id).sorted() == [1, 2, 5])
        #expect(try await database.claim(by: first).map(\.id).sorted() == [3, 4, 6, 10])
        #expect(try await database.claim(by: first).map(\.id) == [])
        #expect(try await database.claim(by: second).map(\.id) == [7])
        try await database.settleAll(of: first)
        #expect(try await database.claim(by: first).map(\.id) == [8])
        #expect(try await database.claim(by: first).map(\.id) == [])
        try await database.settleAll(of: first)
        #expect(try await database.claim(by: first).map(\.id) == [9])
    }

    @Test
    func `of 8,000 jobs that workers died with, all are sent except the one that kills workers`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, lost_claims)
            SELECT 1, ARRAY[lpad(to_hex(i), 4, '0')], '{"aps":{}}', 2 FROM generate_series(1, 8000) i
            """
        )
        var deaths = 2
        var claims = 0
        while try await database.value("SELECT count(*) FROM carillon.failures") == "0" {
            let worker = try await database.addWorker()
            var isDeadly = false
            while !isDeadly {
                // A worker has eight claims in flight, or one quarantined one.
                var jobs: [TestDatabase.ClaimedJob] = []
                for _ in 0..<8 { jobs += try await database.claim(by: worker) }
                claims += 1
                isDeadly = jobs.contains { $0.tokens == ["0539"] }
                if jobs.isEmpty { break }
                if !isDeadly { try await database.settleAll(of: worker) }
            }
            #expect(isDeadly)
            guard isDeadly else { return }
            try await database.bury(worker)
            deaths += 1
            if deaths > 13 { break }
        }
        #expect(deaths <= 13)
        let last = try await database.addWorker()
        while try await !database.claim(by: last).isEmpty { try await database.settleAll(of: last) }
        // Sixteen quarantined claims, and a few more for each death.
        #expect(claims < 60)
        #expect(
            try await database.rows("SELECT message_id, token, reason FROM carillon.failures") == [
                "(1337,0539,Poison)"
            ]
        )
        #expect(try await database.value("SELECT sum(sent) FROM carillon.results") == "7999")
    }

    @Test func `a released claim does not count as a lost claim`() async throws {
        try await database.run("INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')")
        let worker = try await database.addWorker()
        for _ in 0..<6 {
            #expect(try await database.claim(by: worker).count == 1)
            try await database.run("SELECT carillon.release(\(worker), ARRAY(SELECT f.id FROM carillon.inflight f))")
        }
        #expect(try await database.value("SELECT lost_claims FROM carillon.messages") == "0")
    }

    @Test func `claims of jobs with on_unknown fail wait for the disk, and others do not`() async throws {
        let worker = try await database.addWorker()
        for (choice, expected) in [("retry", "off"), ("fail", "on")] {
            try await database.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, on_unknown)
                VALUES (1, '{aa}', '{}', 'retry'), (1, '{bb}', '{}', '\(choice)');
                ALTER DATABASE \(try await database.value("current_database()") ?? "") SET synchronous_commit = 'on'
                """
            )
            try await database.session { other in
                try await other.run("BEGIN")
                #expect(try await other.claim(by: worker).count == 2)
                #expect(try await other.value("current_setting('synchronous_commit')") == expected)
                try await other.run("COMMIT")
            }
        }
    }
}
