import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Who holds locks in the way, or asks for them, as far as that can be seen from outside.
@Suite(.demo) struct LockHolderTests {
    private func holders(
        seenBy observer: TestDatabase,
        olderThan age: Duration = .zero,
        relation: String? = nil
    ) async throws -> [LockHolder] {
        let parameters = LockHolder.parameters(olderThan: age, relation: relation)
        return try await observer.connection.values(of: LockHolder.statement, parameters)
    }

    @Test func `a session that has locked a table is named, with its process and age`() async throws {
        try await database.session { holder in
            try await holder.run("SET application_name = 'nightly'; BEGIN; LOCK TABLE carillon.results IN SHARE MODE")
            let pid = try #require(try await holder.value("SELECT pg_backend_pid()").flatMap { Int32($0) })
            let found = try #require(try await holders(seenBy: database).first)
            #expect(found.pid == pid && found.locksTables && found.relations == "carillon.results", "\(found)")
            #expect(found.who == "process \(pid) (nightly, user postgres, idle in transaction)")
            #expect(try #require(found.seconds) >= 0)
            #expect(try await holders(seenBy: database, olderThan: .seconds(60)).isEmpty)
            try await holder.run("ROLLBACK")
            #expect(try await holders(seenBy: database).isEmpty)
        }
    }

    @Test
    func `a session that has locked rows is named, and one that only reads or vacuums is not`() async throws {
        try await database.session { holder in
            try await holder.run("BEGIN; SELECT count(*) FROM carillon.certificates")
            try await holder.run("LOCK TABLE carillon.results IN SHARE UPDATE EXCLUSIVE MODE")
            #expect(try await holders(seenBy: database).isEmpty)
            try await holder.run("UPDATE carillon.certificates SET last_error = 'x'")
            let found = try await holders(seenBy: database)
            #expect(found.map(\.relations) == ["carillon.certificates"] && found.map(\.locksTables) == [false])
            #expect(try await holders(seenBy: database, relation: "apps").isEmpty)
            #expect(try await holders(seenBy: database, relation: "certificates").count == 1)
            try await holder.run("ROLLBACK")
        }
    }

    @Test func `a session that waits to write to a table is not named`() async throws {
        try await database.session { holder in
            try await holder.run("BEGIN; LOCK TABLE carillon.results IN SHARE MODE")
            try await database.session { victim in
                try await victim.run("BEGIN; UPDATE carillon.certificates SET last_error = 'x'")
                #expect(try await holders(seenBy: database).map(\.relations).count == 2)
                async let waiting: Void = victim.run("INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1)")
                try await TestLoop.shared.eventually("it waits") {
                    try await database.value(
                        "SELECT count(*) FROM pg_locks l WHERE NOT l.granted AND l.pid = "
                            + "\(victim.connection.backendProcessID)"
                    ) == "1"
                }
                #expect(try await holders(seenBy: database).map(\.relations) == ["carillon.results"])
                try await holder.run("ROLLBACK")
                try await waiting
                try await victim.run("ROLLBACK")
            }
        }
    }

    @Test func `a session that waits to lock a table is named, with the idle reader that it waits for`() async throws {
        try await database.session { reader in
            try await reader.run("BEGIN; SELECT count(*) FROM carillon.messages")
            try await database.session { locker in
                let pid = locker.connection.backendProcessID
                async let waiting: Void = locker.run("BEGIN; LOCK TABLE carillon.messages")
                try await TestLoop.shared.eventually("it waits") {
                    try await database.value(
                        "SELECT count(*) FROM pg_locks l WHERE l.waitstart < clock_timestamp() AND l.pid = \(pid)"
                    ) == "1"
                }
                try await database.session { worker in
                    try await worker.run("SET ROLE carillon_worker")
                    let found = try await holders(seenBy: worker)
                    #expect(found.map(\.pid) == [pid] && found.map(\.locksTables) == [false], "\(found)")
                    let sentence = try #require(found.first).sentence
                    #expect(sentence.contains("has waited to lock carillon.messages for "), "\(sentence)")
                    #expect(sentence.hasSuffix(" behind process \(reader.connection.backendProcessID)"), "\(sentence)")
                }
                #expect(try await holders(seenBy: database, olderThan: .seconds(60)).isEmpty)
                try await reader.run("ROLLBACK")
                try await waiting
                try await locker.run("ROLLBACK")
            }
        }
    }

    @Test
    func `a user who may not see the age of transactions learns who has locked a given table`() async throws {
        try await database.session { holder in
            try await holder.run("BEGIN; UPDATE carillon.certificates SET last_error = 'x'")
            try await database.session { worker in
                try await worker.run("SET ROLE carillon_worker")
                #expect(try await holders(seenBy: worker).isEmpty)
                let found = try await holders(seenBy: worker, relation: "certificates")
                #expect(found.count == 1 && found.first?.seconds == nil, "\(found)")
                try await holder.run("LOCK TABLE carillon.apps IN EXCLUSIVE MODE")
                let whole = try await holders(seenBy: worker, olderThan: .seconds(10))
                #expect(whole.map(\.relations) == ["carillon.apps"] && whole.map(\.locksTables) == [true], "\(whole)")
            }
            try await holder.run("ROLLBACK")
        }
    }

    @Test func `the error of a locked row names its table`() async throws {
        try await database.session { holder in
            try await holder.run("BEGIN; UPDATE carillon.certificates SET last_error = 'x'")
            try await database.run("SET lock_timeout = '1ms'")
            let error = await database.refusal(of: "UPDATE carillon.certificates SET last_error = 'y'")
            #expect(error?.sqlState == "55P03" && error?.lockedRelation == "certificates")
            try await holder.run("ROLLBACK")
        }
    }
}
