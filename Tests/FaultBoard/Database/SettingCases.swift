import IO
import Postgres
import PushQueue
import Simulator
import TestSupport
import Testing

/// Schemas, rights and credentials that are not as they should be, or change.
@Suite struct SettingCases {
    @Test func `D15: on a schema that is missing, newer or shut to it, a worker ends with 78 and says why`()
        async throws
    {
        try await Scene.with { scene in
            try await scene.enqueue(100)
            let (name, url) = try await scene.login()
            func refused(_ url: String, saying text: String) async throws {
                let worker = try scene.fleet.start(database: url)
                #expect(try await worker.end() == .status(78))
                #expect(worker.said.contains(text), "\(worker.said)")
            }
            try await scene.client.run("REVOKE SELECT ON carillon.messages FROM carillon_worker")
            try await refused(url, saying: "carillon_worker")
            try await scene.client.run("GRANT SELECT ON carillon.messages TO carillon_worker")
            try await scene.client.run("INSERT INTO carillon.schema_migrations (version, name) VALUES (9999, 'later')")
            try await refused(url, saying: "this program knows versions")
            try await scene.client.run("DELETE FROM carillon.schema_migrations WHERE version = 9999")
            try await TestDatabase.with { empty in try await refused(empty, saying: "carillon migrate up") }
            #expect(scene.record.requests == 0)

            // Taken away while it works, it is an error that is said and gone when the right is back.
            let worker = try scene.fleet.start(database: url)
            try await worker.started()
            try await scene.requests(100)
            try await scene.client.run("REVOKE DELETE ON carillon.messages FROM \(name), carillon_worker")
            try await scene.enqueue(500)
            try await worker.says("permission denied")
            try await scene.client.run("GRANT DELETE ON carillon.messages TO carillon_worker")
            try await scene.finish()
        }
    }

    @Test func `D18: a credential that changes is used within seconds; without one rows wait`() async throws {
        try await Scene.with { scene in
            let worker = try await scene.fleet.started()
            try await scene.underLoad {
                try await scene.requests(300)
                let connections = Set(scene.record.deliveries.map(\.connection))
                try await scene.certify([Scene.topic])
                try await scene.eventually(
                    "a connection with the new credential",
                    within: Board.sized(.seconds(60), full: .seconds(10))
                ) {
                    guard let last = scene.record.deliveries.last else { return false }
                    return !connections.contains(last.connection)
                }
            }
            try await scene.drained(within: .seconds(30))
            try await scene.client.run("UPDATE carillon.apps SET certificate_id = NULL")
            // The change is not seen at once: one row after the other is sent until it is.
            var sent = scene.record.requests - 1
            try await scene.eventually("a row waits for a credential", within: .seconds(15)) {
                guard worker.lines(containing: "has no credential").isEmpty else { return true }
                if scene.record.requests > sent {
                    sent = scene.record.requests
                    try await scene.enqueue(1)
                }
                return false
            }
            try await scene.eventually("the others were sent") {
                try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0
            }
            sent = scene.record.requests
            let waiting = try await scene.client.number("SELECT count(*) FROM carillon.pending")
            try await scene.enqueue(200)
            try await scene.livesOn(worker, for: .seconds(1))
            #expect(scene.record.requests == sent)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.pending") == waiting + 200)
            try await scene.client.run(
                "UPDATE carillon.apps SET certificate_id = (SELECT c.id FROM carillon.certificates c)"
            )
            try await scene.finish()
        }
    }
}
