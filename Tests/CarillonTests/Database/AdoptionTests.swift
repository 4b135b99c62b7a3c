import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// An adoption deletes the rows of dead workers, and each heartbeat writes one.
@Suite(.shop) struct AdoptionTests {
    /// Of five jobs, two are claimed by a worker whose lease is over. One of these, and one that waits, were created at infinity.
    private static func claim() async throws {
        try await shop.enqueue(5)
        try await shop.database.run(
            """
            UPDATE carillon.messages SET created_at = 'infinity' WHERE id IN (2, 3);
            WITH gone AS (DELETE FROM carillon.messages WHERE id <= 2 RETURNING *)
            INSERT INTO carillon.inflight (id, worker_id, app_id, jobs)
            SELECT 5, 77, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g;
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (77, 'late', now() - interval '1 second')
            """
        )
    }

    /// Its heartbeat. Nil: it was declared dead.
    private static func renewLease(on connection: PostgresConnection) async throws -> Int64? {
        let parameters = LeaseStatements.parameters(
            renewing: 77,
            for: .seconds(600),
            noting: (waits: [], answers: [], connections: 0),
            settlingWithin: nil
        )
        return try await connection.query(LeaseStatements.heartbeat, parameters) { rows in
            try rows.int64IfPresent(0, "workers")
        }
    }

    private static func waits(_ application: String) async throws {
        try await TestLoop.shared.eventually("\(application) waits for the row of the worker") {
            try await shop.database.waitsForLock(as: application)
        }
    }

    @Test func `the claims of a worker do not expire while its heartbeat is under way`() async throws {
        try await Self.claim()
        try await shop.database.session { worker in
            try await worker.run("BEGIN")
            #expect(try await Self.renewLease(on: worker.connection) == 1)
            async let adopting = shop.run("adopt", "--yes", "--expire-before", "now")
            try await Self.waits("carillon adopt")
            try await worker.run("COMMIT")
            let adopted = try await adopting
            #expect(
                adopted.status == 0 && adopted.output.contains("3 jobs expire")
                    && adopted.output.contains("2 jobs do not expire"),
                "\(adopted.output)\(adopted.errors)"
            )
        }
        let claims = try await shop.database.rows("SELECT worker_id, cardinality(jobs) FROM carillon.inflight")
        #expect(claims == ["(77,2)"])
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.workers WHERE lease_until > now()") == 1)
    }

    @Test func `a heartbeat that waits for an adoption says that its worker was declared dead`() async throws {
        try await Self.claim()
        try await shop.database.session { owner in
            try await owner.run("BEGIN")
            #expect(try await owner.number("carillon.adopt(NULL, 'infinity')") == 5)
            try await shop.database.session { worker in
                async let renewing = Self.renewLease(on: worker.connection)
                try await Self.waits("test")
                try await owner.run("COMMIT")
                #expect(try await renewing == nil)
            }
        }
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.inflight") == 0)
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().isEmpty)
    }
}
