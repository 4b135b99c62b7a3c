import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText
import FoundationEssentials

/// Checks the database: the server, the schema, and whether this login can do a worker's work.
struct DatabaseChecks {
    let connection: PostgresConnection

    /// Without failures the schema exists, so the other checks make sense.
    func run() async -> [CheckLine] {
        var lines = await CheckLine.of("database") { [try await server()] }
        lines += await CheckLine.of("migrations") { [try await schema()] }
        guard lines.last?.condition == .ok else { return lines }
        lines += await CheckLine.of("installation") { [try await installation()] }
        lines += await CheckLine.of("roles") { [try await roles()] }
        lines += await CheckLine.of("grants") { [try await grants()] }
        lines += await CheckLine.of("keys") { try await keys() }
        lines += await CheckLine.of("reaper") { [try await reaper()] }
        lines += await CheckLine.of("isolation") { [try await isolation()] }
        lines += await CheckLine.of("plans") { [try await plans()] }
        lines += await CheckLine.of("clock") { [try await clock()] }
        lines += await CheckLine.of("retries") { [try await retries()] }
        lines += await CheckLine.of("durability") { [try await durability()] }
        lines += await CheckLine.of("autovacuum") { [try await autovacuum()] }
        lines += await CheckLine.of("vacuum") { try await horizon() }
        lines += await CheckLine.of("locks") { [try await LockCheck(connection: connection).run()] }
        lines += await CheckLine.of("workers") { try await workers() }
        lines += await CheckLine.of("maintenance") { try await maintenance() }
        lines += await CheckLine.of("consumers") { try await consumers() }
        lines += await CheckLine.of("webhooks") { try await webhooks() }
        return lines
    }

    private func server() async throws -> CheckLine {
        let version = connection.serverVersion
        let name = "PostgreSQL \(version / 10_000).\(version % 10_000)"
        guard version >= 140_000 else {
            return .failed(
                "\(name) answers, but PostgreSQL 14 is the oldest supported version.",
                remedy: "Upgrade the server."
            )
        }
        let takesWrites = try await connection.query(CheckStatements.takesWrites) { rows in try rows.bool(0, 0) }
        guard takesWrites else {
            return .warning(
                "\(name) answers, but accepts no writes from this login: workers wait for a server that does.",
                remedy: "Add the primary to the URL; on a primary, turn default_transaction_read_only off."
            )
        }
        return .ok("\(name) answers" + (await connection.isPooled ? ", through a pooler." : "."))
    }

    private func schema() async throws -> CheckLine {
        try await SchemaCheck.run(on: connection)
        return .ok("The schema is at version \(Migration.latest), the one that this program needs.")
    }

    private func installation() async throws -> CheckLine {
        try await InstallationCheck.run(on: connection)
        return .ok("Pushes are sent from this database.")
    }

    private func roles() async throws -> CheckLine {
        let missing: [String] = try await connection.values(of: CheckStatements.missingRights)
        let (user, login) = try await connection.query(CheckStatements.user) { rows in
            (try rows.string(0, 0), try rows.string(0, 1))
        }
        guard missing.isEmpty else {
            let all = Self.first(of: missing)
            // A grant to that role would give the rights to all its members.
            if user != login {
                return .failed(
                    "The user \(login) acts as the role \(user), which lacks rights of a worker: \(all).",
                    remedy:
                        "Find what sets the role: ALTER ROLE \(login) RESET role, or another program that runs SET ROLE in the "
                        + "same session of a pooler."
                )
            }
            return .failed(
                "The user \(user) lacks rights of a worker: \(all).",
                remedy:
                    "As a superuser, or as the schema's owner with the admin option, run GRANT carillon_worker TO \(user). Rights that were revoked from "
                    + "carillon_worker itself are listed by 'carillon migrate sql --after \(Migration.latest)'."
            )
        }
        return .ok("The user \(user) has the rights of a worker.")
    }

    private static func first(of rights: [String]) -> String {
        rights.prefix(3).joined(separator: ", ") + (rights.count > 3 ? " and more" : "")
    }

    private func grants() async throws -> CheckLine {
        let missing: [String] = try await connection.values(of: CheckStatements.missingGrants)
        guard missing.isEmpty else {
            return .warning(
                "Rights that the migrations granted were revoked: \(Self.first(of: missing)).",
                remedy:
                    "Grant them again as the schema's owner; 'carillon migrate sql --after \(Migration.latest)' shows how."
            )
        }
        return .ok("The roles of Carillon have all rights that the migrations granted.")
    }

    private func keys() async throws -> [CheckLine] {
        let found: [KeyReaders] = try await connection.values(of: CheckStatements.keyReaders)
        let lines = found.compactMap { found -> CheckLine? in
            let sentence = "Private keys can also be read by \(Counted.list(found.readers)), because of "
            return switch found.way {
            case .default: nil
            case .grant:
                .warning(
                    sentence + "a grant or of default privileges.",
                    remedy: "As the schema's owner, run \(found.command)."
                )
            case .membership:
                .warning(
                    sentence + "pg_read_all_data.",
                    remedy:
                        "If they are not meant to, run \(found.command), as a superuser or with the admin option on it."
                )
            }
        }
        guard lines.isEmpty else { return lines }
        let later = found.first.map {
            " By default privileges, \(Counted.list($0.readers)) can read tables of later versions: check again after an upgrade."
        }
        return [
            .ok(
                "Only workers and the schema's owner have rights to read private keys, provider tokens and secrets of webhooks."
                    + (later ?? "")
            )
        ]
    }

    private func reaper() async throws -> CheckLine {
        let danger = try await connection.query(CheckStatements.unsafeReaper) { rows in
            (message: try rows.stringIfPresent(0, 0), command: try rows.stringIfPresent(0, 1))
        }
        guard let message = danger.message else {
            return .ok("Triggers of watched tables run with the rights of carillon_reaper only.")
        }
        return .failed(
            "Triggers of watched tables would run with more rights than they should, so nothing is deleted there: \(message).",
            remedy: danger.command?.asSentence
        )
    }

    private func isolation() async throws -> CheckLine {
        let holes: [IsolationHole] = try await connection.values(of: CheckStatements.openIsolation)
        if let first = holes.first {
            return .failed(
                "Isolated roles (\(Counted.list(first.roles))) can reach other apps: \(first.hole)"
                    + (holes.count > 1 ? ", and \(holes.count - 1) more." : "."),
                remedy: "As the schema's owner, or as a superuser, run \(first.command)."
            )
        }
        let faults: [IsolationFault] = try await connection.values(of: CheckStatements.isolation)
        guard let first = faults.first else {
            return .ok("Every isolated role exists and can use its app.")
        }
        let more = faults.count > 1 ? ", and \(faults.count - 1) more of that kind" : ""
        return .warning(
            first.role.map {
                "The role \($0), isolated to the app \(first.app), no longer has carillon_tenant, so it can do nothing\(more)."
            }
                ?? "A role that was isolated to the app \(first.app) was dropped\(more): row-level security stays on for it.",
            remedy: "Have the schema's owner run \(first.command)."
        )
    }

    private func plans() async throws -> CheckLine {
        let faults = try await PlanCheck.run(on: connection)
        guard faults.isEmpty else {
            return .failed(
                ("\(faults.joined(separator: "; "))").asSentence,
                remedy:
                    "An index is missing or invalid: create it as the migrations do ('carillon migrate sql'), or REINDEX the "
                    + "table."
            )
        }
        return .ok("The worker's statements use their indexes.")
    }

    private func clock() async throws -> CheckLine {
        // The first answer may include the time to prepare the statement.
        _ = try await connection.query(CheckStatements.now) { try $0.moment(0, 0) }
        let before = Date().timeIntervalSince1970
        let theirs = try await connection.query(CheckStatements.now) { try $0.moment(0, 0) }
        let after = Date().timeIntervalSince1970
        let difference = (before + after) / 2 - Double(theirs.microseconds) / 1_000_000
        let tenths = Int(abs(difference) * 10 + 0.5)
        let text = "\(tenths / 10).\(tenths % 10) s"
        guard abs(difference) >= 5 else {
            return .ok("This machine's clock and the database's agree within \(text).")
        }
        return .warning(
            "This machine's clock is \(text) \(difference > 0 ? "ahead of" : "behind") the database's.",
            remedy:
                "Carillon uses the database's clock, but Apple checks provider tokens and certificates against real time: run "
                + "a time service on both machines."
        )
    }

    /// Retries that were timed while the database's clock was ahead.
    private func retries() async throws -> CheckLine {
        let found: [ClockSetBack] = try await connection.values(of: CheckStatements.setBack)
        guard let clock = found.first, clock.retries > 0 else {
            return .ok("No retry is waiting for a clock that was set back.")
        }
        let count = clock.retries
        let retries = Amount(count, count < 1000 ? .exact : .atLeast).prefixed(Counted.text(count, "retry", "retries"))
        return .warning(
            "The database's clock went back by at least \(DurationText.write(.seconds(clock.seconds))), and \(retries) "
                + "\(count == 1 ? "waits" : "wait") until it is there again.",
            remedy:
                "To have them sent now, run as the schema's owner UPDATE carillon.scheduled SET run_at = now() "
                + "WHERE attempt > 1 AND run_at >= '\(clock.minute)'"
        )
    }

    private func durability() async throws -> CheckLine {
        let off: [String] = try await connection.values(of: CheckStatements.durability)
        guard !off.isEmpty else { return .ok("Committed messages survive a crash of the server.") }
        return .warning(
            "A crash of the server may lose committed messages: \(Counted.list(off)) \(off.count == 1 ? "is" : "are") off.",
            remedy: "Turn \(off.count == 1 ? "it" : "them") on, unless nothing in the database matters."
        )
    }

    private func autovacuum() async throws -> CheckLine {
        let problems: [String] = try await connection.values(of: CheckStatements.autovacuum)
        guard !problems.isEmpty else { return .ok("Autovacuum is on, with the queue's own settings.") }
        return .warning(
            problems.joined(separator: "; ").asSentence,
            remedy:
                "Rows of the queue are deleted soon after they are inserted, so it needs autovacuum: turn it on, and set the "
                + "tables' storage parameters as the migrations do."
        )
    }

    private func horizon() async throws -> [CheckLine] {
        let finding = try await HorizonHolder.find(from: connection)?.finding
        if let finding { return CheckLine.warnings([finding]) }
        let end = try await CheckStatements.end(without: "transactions", on: connection)
        return [.ok("Nothing keeps vacuum from removing dead rows\(end)")]
    }

    private func workers() async throws -> [CheckLine] {
        let fleet = try await FleetReport(from: connection)
        let lines = CheckLine.warnings(fleet.findings)
        let alive = Counted.text(Int64(fleet.workers.count), "worker") + " alive."
        return lines.isEmpty ? [.ok(fleet.workers.isEmpty ? "No worker is running." : alive)] : lines
    }

    private func maintenance() async throws -> [CheckLine] {
        let lines = CheckLine.warnings(try await MaintenanceReport(from: connection).findings)
        return lines.isEmpty ? [.ok("Partitions are created ahead of time, and old ones are dropped.")] : lines
    }

    private func webhooks() async throws -> [CheckLine] {
        let webhooks = try await WebhookRecord.all(from: connection)
        let lines = CheckLine.warnings(webhooks.compactMap { $0.finding(at: WallClock.microseconds) })
        return lines.isEmpty ? [.ok("No webhook is paused, or has failed for an hour.")] : lines
    }

    private func consumers() async throws -> [CheckLine] {
        let abandoned: [AbandonedConsumer] = try await connection.values(of: CheckStatements.abandoned)
        if abandoned.isEmpty { return [.ok("No event has waited for its consumer for a day.")] }
        return abandoned.map {
            .warning(
                "\(Counted.text($0.events, "event")) of \($0.app) \($0.events == 1 ? "waits" : "wait") for the consumer "
                    + "\($0.consumer), the oldest for \(DurationText.age($0.seconds)).",
                remedy: "Have it take them, or run \($0.command). Events are deleted after the retention."
            )
        }
    }
}

/// A row of `abandoned`.
private struct AbandonedConsumer: Decodable, Sendable {
    let app: String
    let consumer: String
    let events: Int64
    let seconds: Int64
    let command: String
}

/// A row of `openIsolation`.
private struct IsolationHole: Decodable, Sendable {
    let hole: String
    let roles: [String]
    let command: String
}

/// A row of `keyReaders`.
private struct KeyReaders: Decodable, Sendable {
    enum Way: String, Decodable { case `default`, grant, membership }

    let way: Way
    let readers: [String]
    let command: String
}

/// A row of `isolation`.
private struct IsolationFault: Decodable, Sendable {
    let app: String
    let role: String?
    let command: String
}

/// The row of `setBack`.
private struct ClockSetBack: Decodable, Sendable {
    let minute: String
    let seconds: Int64
    let retries: Int64
}

/// Finds sessions whose locks, or whose waits for locks, block workers or applications.
private struct LockCheck {
    /// The locks of Carillon, and of applications that enqueue, are held only for a moment.
    private static let age = Duration.seconds(10)

    let connection: PostgresConnection

    func run() async throws -> CheckLine {
        let parameters = LockHolder.parameters(olderThan: Self.age)
        let holders: [LockHolder] = try await connection.values(of: LockHolder.statement, parameters)
        guard let first = holders.first else {
            let end = try await CheckStatements.end(without: "row locks", on: connection)
            return .ok("No session has held a lock on Carillon's tables for long\(end)")
        }
        let others = holders.count > 1 ? "; so have \(holders.count - 1) more" : ""
        let end = first.pid.map { "SELECT pg_terminate_backend(\($0))" } ?? "ROLLBACK PREPARED"
        let whole = first.locksTables || first.waitsBehind != nil
        let meanwhile = whole ? "all that writes there waits" : "workers continue with other apps"
        return .warning(
            (first.sentence + others).asSentence,
            remedy: "Meanwhile, \(meanwhile). End the transaction where it was started, or by \(end)."
        )
    }
}
