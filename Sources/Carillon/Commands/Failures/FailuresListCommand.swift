import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let failuresList = Command(
        "failures list",
        roles: ["carillon_app", "carillon_reader"],
        summary: "List the pushes that failed for good, newest first.",
        discussion:
            "Works with carillon_worker too, unless --message is given. With --json, prints an object with failures, an "
            + "array, and failures_precision: \"exact\", or \"at least\" if more exist.",
        options: FailureFilter.options + [.limit, .json, .database],
        examples: [
            "carillon failures list --app acme --since 1h",
            "carillon failures list --reason BadDeviceToken --limit 1000 --json",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                try await FailuresListCommand(invocation: invocation, connection: connection).run()
            }
        }
    )
}

private struct FailuresListCommand {
    private static let failures = Statement(
        "failures_list",
        """
        SELECT \(FailureRecord.columns)
        FROM carillon.failures f LEFT JOIN carillon.apps a ON a.id = f.app_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR f.reason = $2)
            AND ($3::float8 IS NULL OR f.failed_at >= now() - make_interval(secs => $3))
            AND ($4::int8 IS NULL OR (f.app_id, f.message_id) IN (
                SELECT p.app_id, p.message_id FROM carillon.message_jobs($4) p))
        ORDER BY f.failed_at DESC, f.message_id DESC, f.token LIMIT $5
        """
    )

    let invocation: Invocation
    let connection: PostgresConnection

    func run() async throws -> ExitStatus {
        let filter = FailureFilter(settings: invocation.settings)
        try await filter.check(on: connection)
        let (failures, hasMore) = try await read(filter)
        invocation.show(["failures": failures.json, "failures_precision": Amount.Precision(isCut: hasMore).json]) {
            console in
            guard !failures.isEmpty else {
                console.print("Nothing failed.")
                return
            }
            let table = TextTable(
                failures,
                .left("TIME") { $0.failedAt.text },
                .left("APP") { $0.app ?? "-" },
                .right("MESSAGE") { String($0.messageID) },
                .right("STATUS") { $0.status.map { String($0) } ?? "-" },
                .left("REASON") { $0.reason },
                .left("REQUEUED") { $0.requeuedAt != nil ? "yes" : "-" },
                .left("TOKEN") { $0.token }
            )
            console.print(table)
            if hasMore {
                console.note("There are more: these are the newest \(failures.count.grouped). --limit lists more.")
            }
        }
        return .done
    }

    private func read(_ filter: FailureFilter) async throws -> (failures: [FailureRecord], hasMore: Bool) {
        let limit = invocation.settings.count(.limit)
        var parameters = Parameters()
        filter.append(to: &parameters)
        // One extra row shows whether there are more.
        parameters.append(Int64(limit) + 1)
        let failures: [FailureRecord] = try await connection.values(of: Self.failures, parameters)
        return (Array(failures.prefix(limit)), failures.count > limit)
    }
}
