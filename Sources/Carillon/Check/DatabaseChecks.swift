import FoundationEssentials
import IO
import Postgres
import PushQueue

/// Looks at the database: the server, the schema, and whether a worker could do its work as this user.
struct DatabaseChecks {
    let connection: PostgresConnection

    /// Empty of failures: the schema is there, so the other looks make sense.
    func run() async -> [Finding] {
        var findings = [await server()]
        let schema = await schema()
        findings.append(schema)
        guard schema.condition == .ok else { return findings }
        findings.append(await looking("roles") { try await roles() })
        findings.append(await looking("grants") { try await grants() })
        findings.append(await looking("plans") { try await plans() })
        findings.append(await looking("clock") { try await clock() })
        findings.append(await looking("durability") { try await durability() })
        findings.append(await looking("autovacuum") { try await autovacuum() })
        findings.append(await looking("vacuum") { try await horizon() })
        findings.append(await looking("history") { try await MaintenanceCheck(connection: connection).run() })
        return findings
    }

    private func looking(_ subject: String, _ look: () async throws -> Finding) async -> Finding {
        do { return try await look() } catch { return .failed(subject, error) }
    }

    private func server() async -> Finding {
        let version = connection.serverVersion
        let name = "PostgreSQL \(version / 10_000).\(version % 10_000)"
        guard version >= 140_000 else {
            return .failed(
                "database",
                "\(name) answers, and 14 is the oldest that will do.",
                remedy: "Upgrade the server."
            )
        }
        do {
            let takesWrites = try await connection.query(CheckStatements.takesWrites) { rows in try rows.bool(0, 0) }
            guard takesWrites else {
                return .warning(
                    "database",
                    "\(name) answers, and takes no writes from this user: workers wait for one that does.",
                    remedy: "Name the primary too, or let the user write: default_transaction_read_only is on."
                )
            }
        } catch {
            return .failed("database", error)
        }
        return .ok("database", "\(name) answers" + (await connection.isPooled ? ", through a pooler." : "."))
    }

    private func schema() async -> Finding {
        do {
            try await SchemaCheck.run(on: connection)
            return .ok("migrations", "The schema carillon is at version \(Migration.latest), as this program needs it.")
        } catch {
            return .failed("migrations", error)
        }
    }

    private func roles() async throws -> Finding {
        let missing = try await connection.query(CheckStatements.missingRights) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
        let user = try await connection.query(CheckStatements.user) { rows in try rows.string(0, 0) }
        guard missing.isEmpty else {
            let all =
                missing.count > 3
                ? missing.prefix(3).joined(separator: ", ") + " and more" : missing.joined(separator: ", ")
            return .failed(
                "roles",
                "The user \(user) cannot do a worker's work: it lacks \(all).",
                remedy:
                    "Have the schema's owner run GRANT carillon_worker TO \(user), and GRANT … TO carillon_worker again "
                    + "where that was revoked (migration 0012_grants)."
            )
        }
        return .ok("roles", "The user \(user) may do a worker's work.")
    }

    private func grants() async throws -> Finding {
        let missing = try await connection.query(CheckStatements.missingGrants) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
        guard missing.isEmpty else {
            let all = missing.prefix(3).joined(separator: ", ") + (missing.count > 3 ? " and more" : "")
            return .warning(
                "grants",
                "What the migrations have granted was taken away: \(all).",
                remedy: "Have the schema's owner grant it again, as 'carillon migrate sql --after 11' shows."
            )
        }
        return .ok("grants", "carillon_app, carillon_worker and carillon_reader have the rights they were given.")
    }

    private func plans() async throws -> Finding {
        let faults = try await PlanCheck.run(on: connection)
        guard faults.isEmpty else {
            return .failed(
                "plans",
                ("\(faults.joined(separator: "; "))").asSentence,
                remedy:
                    "An index is missing or invalid: make it again as the migrations do ('carillon migrate sql'), or "
                    + "REINDEX the table."
            )
        }
        return .ok("plans", "Claiming, looking for work and moving what is due go by their indexes.")
    }

    private func clock() async throws -> Finding {
        // The first answer may have to wait for preparing.
        _ = try await connection.query(CheckStatements.now) { try $0.timestamp(0, 0) }
        let before = Date().timeIntervalSince1970
        let theirs = try await connection.query(CheckStatements.now) { try $0.timestamp(0, 0) }
        let after = Date().timeIntervalSince1970
        let difference = (before + after) / 2 - Double(theirs) / 1_000_000
        let tenths = Int(abs(difference) * 10 + 0.5)
        let text = "\(tenths / 10).\(tenths % 10) s"
        guard abs(difference) >= 5 else { return .ok("clock", "This machine and the database agree within \(text).") }
        return .warning(
            "clock",
            "This machine's clock is \(text) \(difference > 0 ? "ahead of" : "behind") the database's.",
            remedy:
                "Messages go by the database's clock, but Apple judges provider tokens and certificates by real time: "
                + "run a time service on both."
        )
    }

    private func durability() async throws -> Finding {
        let off = try await connection.query(CheckStatements.durability) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
        guard !off.isEmpty else { return .ok("durability", "What is committed survives a crash of the server.") }
        return .warning(
            "durability",
            "A crash of the server may lose what was committed: \(off.joined(separator: " and ")) is off.",
            remedy: "Turn it on, unless the database holds nothing that matters."
        )
    }

    private func autovacuum() async throws -> Finding {
        let troubles = try await connection.query(CheckStatements.autovacuum) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
        guard !troubles.isEmpty else { return .ok("autovacuum", "It is on, with the queue's own settings.") }
        return .warning(
            "autovacuum",
            troubles.joined(separator: "; ").asSentence,
            remedy:
                "The queue lives on rows that die young: turn autovacuum on and set the tables' storage parameters as "
                + "the migrations do."
        )
    }

    private func horizon() async throws -> Finding {
        let holders = try await connection.query(CheckStatements.horizon) { rows in
            try rows.indices.map { row in (what: try rows.string(row, 0), seconds: try rows.double(row, 1)) }
        }
        guard let oldest = holders.first, oldest.seconds >= 300 else {
            return .ok("vacuum", "Nothing keeps it from removing dead rows.")
        }
        return .warning(
            "vacuum",
            "Dead rows have not been removed for \(DurationText.write(.seconds(Int64(oldest.seconds)))): \(oldest.what) "
                + "still sees them.",
            remedy:
                "End it: SELECT pg_terminate_backend(PID), ROLLBACK PREPARED or pg_drop_replication_slot(); and bound "
                + "what comes with idle_in_transaction_session_timeout."
        )
    }
}
