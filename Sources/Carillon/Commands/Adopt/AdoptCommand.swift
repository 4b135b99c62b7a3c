import CarillonPostgres
import CarillonText

extension Command {
    static let adopt = Command(
        "adopt",
        roles: [],
        summary: "Let workers send from this copy of a database.",
        discussion:
            "A restored dump and a copy made from a template have the jobs of the original. Workers, feedback passes and enqueueing "
            + "over HTTP refuse such a copy until the owner of the schema adopts it. A cloned disk and a base backup are refused "
            + "only if the original has a name (--installation). Shows both databases and what waits here, and asks first, unless "
            + "--yes is given. A promoted standby needs no adoption.",
        options: [.installation, .expireBefore, .yes, .database],
        examples: ["carillon adopt", "carillon adopt --expire-before now", "carillon adopt --installation production"],
        run: { invocation in
            let adoption = try AdoptCommand(invocation)
            return try await DatabaseScope.with(invocation) { connection, _ in try await adoption.run(on: connection) }
        }
    )
}

private struct AdoptCommand: Sendable {
    private static let places = Statement(
        "adopt_places",
        """
        SELECT i.database_oid AS home, i.system_identifier AS home_cluster, i.name, p.database_oid AS here,
            p.system_identifier AS here_cluster, current_database()::text AS database,
            (SELECT count(*) FROM carillon.messages) AS ready, (SELECT count(*) FROM carillon.scheduled) AS scheduled,
            (SELECT coalesce(sum(cardinality(f.jobs)), 0)::bigint FROM carillon.inflight f) AS claimed,
            (SELECT min(o.created_at) FROM (SELECT m.created_at FROM carillon.messages m
                UNION ALL SELECT s.created_at FROM carillon.scheduled s
                UNION ALL SELECT j.created_at FROM carillon.inflight f, unnest(f.jobs) AS j) AS o
                WHERE isfinite(o.created_at)) AS oldest
        FROM carillon.installation i, carillon.this_database() AS p
        """
    )

    private static let adopt = Statement("adopt", "SELECT carillon.adopt($1, $2)")

    /// What is still claimed belongs to workers that may be alive.
    private static let claims = Statement(
        "adopt_claims",
        """
        SELECT count(*) FROM carillon.inflight f, unnest(f.jobs) AS j WHERE j.created_at < $1 OR $1 = timestamptz 'infinity'
        """
    )

    private struct Places: Sendable {
        let home: String
        let here: String
        let name: String?
        let isHome: Bool
        /// What waits, as a sentence.
        let jobs: String

        init(_ rows: borrowing Rows) throws(PostgresError) {
            let (home, here) = (try rows.int64(0, "home"), try rows.int64(0, "here"))
            let (homeCluster, hereCluster) = (try rows.int64(0, "home_cluster"), try rows.int64(0, "here_cluster"))
            self.home = "the database \(home) of the cluster \(homeCluster)"
            self.here = "the database \(here) (\(try rows.string(0, "database").visible)) of the cluster \(hereCluster)"
            name = try rows.stringIfPresent(0, "name")
            isHome = (home, homeCluster) == (here, hereCluster)
            let oldest = try rows.momentIfPresent(0, "oldest").map { "; the oldest is from \($0.text)" }
            jobs =
                "Here wait \(Counted.text(try rows.int64(0, "ready"), "ready job")), "
                + "\(Int(try rows.int64(0, "scheduled")).grouped) scheduled and "
                + "\(Int(try rows.int64(0, "claimed")).grouped) that workers have claimed\(oldest ?? "")."
        }
    }

    let invocation: Invocation
    private let name: String?
    private let expireBefore: Moment?

    init(_ invocation: Invocation) throws(UsageError) {
        self.invocation = invocation
        name = invocation.settings.text(.installation)
        guard let text = invocation.settings.text(.expireBefore) else {
            expireBefore = nil
            return
        }
        if text == "now" {
            expireBefore = .infinity
            return
        }
        switch TimeReader.read(Array(text.utf8)[...]) {
        case .time(let time): expireBefore = Moment(time)
        case .wrong(let reason): throw UsageError("--expire-before: '\(text)' \(reason).")
        }
    }

    func run(on connection: PostgresConnection) async throws -> ExitStatus {
        let console = invocation.console
        let places = try await connection.query(Self.places) { rows in try Places(rows) }
        if places.isHome, expireBefore == nil, name ?? places.name == places.name {
            console.print("Pushes are already sent from this database.")
            return .done
        }
        if !places.isHome {
            console.print("So far, pushes have been sent from \(places.home).")
            console.print("This is \(places.here).")
        }
        console.print(places.jobs)
        try Confirmation(invocation: invocation).obtain(consequence(places))
        let (expired, claimed) = try await connection.transaction {
            let expired = try await connection.query(Self.adopt, Parameters(name, expireBefore)) { try $0.int64(0, 0) }
            return (expired, try await connection.query(Self.claims, Parameters(expireBefore)) { try $0.int64(0, 0) })
        }
        console.print("Pushes are now sent from this database.")
        if expireBefore != nil {
            console.print(
                "\(Counted.text(expired, "job expires", "jobs expire")): workers end them without sending them."
            )
            if claimed > 0 {
                console.print(
                    "\(Counted.text(claimed, "job does", "jobs do")) not expire, because the leases of the workers that "
                        + "claimed them have not ended. Run this again when they have, before you start a worker."
                )
            }
        }
        return .done
    }

    private func consequence(_ places: Places) -> String {
        let expiring =
            expireBefore.map { time in
                time == .infinity
                    ? "All waiting jobs expire."
                    : "Jobs enqueued before \(time.text) expire, and all others are sent."
            }
            ?? "All waiting jobs are sent; if the original sends them too, they arrive twice. --expire-before TIME ends older jobs."
        return "Workers send from this database. \(expiring)"
    }
}
