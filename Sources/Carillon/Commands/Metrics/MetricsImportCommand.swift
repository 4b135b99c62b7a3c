import CarillonIO
import CarillonPostgres

extension Command {
    static let metricsImport = Command(
        "metrics import",
        roles: ["carillon_worker"],
        summary: "Store what a CSV file of Apple's metrics says of an app.",
        discussion: """
            The file is what Apple's console or export service makes, in UTF-8, with the columns Push Type, Status, Date (UTC) and
            Count; other columns are ignored. It does not say of which app it is. A count of -1 is one that Apple hides.

            Refused lines are skipped, and the first ten are listed; all valid lines are stored. Importing a file again changes
            nothing; a later file replaces the counts of an earlier one.
            """,
        arguments: [Argument("FILE", "The file, or - for standard input.")],
        required: [.app],
        options: [.database],
        exits: [.failed: "A line was refused.", .tryAgain: "It was interrupted."],
        examples: [
            "carillon metrics import --app acme export.csv",
            "zcat export.csv.gz | carillon metrics import --app acme -",
        ],
        run: { invocation in
            let source = try InputFile(invocation.name)
            defer { source.close() }
            let app = invocation.settings.required(.app)
            let console = invocation.console
            return try await DatabaseScope.with(invocation) { connection, loop in
                let store = MetricsStore(connection: connection)
                let work = MetricsImport(app: app, store: store, console: console, now: WallClock.microseconds)
                let tally = try await Interruption.cancelling(on: loop, again: { Task { await connection.close() } }) {
                    try await work.run {
                        try Task.checkCancellation()
                        return try await source.read(on: loop)
                    }
                }
                console.print("Imported \(work.conclude(tally))")
                return tally.refused > 0 ? .failed : .done
            }
        }
    )
}
