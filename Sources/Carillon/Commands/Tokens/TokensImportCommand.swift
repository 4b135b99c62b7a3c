import CarillonIO
import CarillonPostgres
import CarillonPushRules
import CarillonText

extension Command {
    static let tokensImport = Command(
        "tokens import",
        roles: ["carillon_app"],
        summary: "Register the device tokens in a file for an app.",
        discussion: """
            The file is CSV in UTF-8, separated by commas, semicolons or tabs. A header names the columns token, last_update,
            owner, kind, environment, activity_type, time_zone, locale and attributes, in any order; other columns are ignored.
            Without a header, each line is a token, optionally followed by last_update and owner.

            last_update is a time with a time zone, or seconds, milliseconds or microseconds since 1970. A token without it is
            treated as registered now, so no earlier feedback deletes it. A token that is registered already keeps the newer time.
            kind is what a token is for, such as push_to_start; --kind sets it for tokens without one, and a new token without
            either has the kind device. Tokens of a kind that Carillon does not know are imported too, with a warning. The
            columns from environment on are arguments of carillon.register_token; an empty field keeps what is known.

            Refused lines are skipped, and the first ten are listed; all valid lines are imported. If interrupted, the command
            keeps what it has imported; you can run it again at any time.
            """,
        arguments: [Argument("FILE", "The file, or - for standard input.")],
        required: [.app],
        options: [.kind, .rejects, .json, .database],
        exits: [.done: "All lines were imported.", .failed: "A line was refused.", .tryAgain: "It was interrupted."],
        examples: [
            "carillon tokens import --app acme tokens.csv",
            "carillon tokens import --app acme --rejects refused.csv tokens.csv",
            "psql shop -c \"COPY (SELECT token, last_update FROM devices) TO STDOUT CSV HEADER\" \\\n"
                + "      | carillon tokens import --app acme -",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop in
                try await TokensImportCommand(invocation: invocation, connection: connection, loop: loop).run()
            }
        }
    )
}

private struct TokensImportCommand: Sendable {
    let invocation: Invocation
    let connection: PostgresConnection
    let loop: EventLoop

    private var console: Console { invocation.console }
    private var app: String { invocation.settings.required(.app) }

    func run() async throws -> ExitStatus {
        let source = try InputFile(invocation.name)
        defer { source.close() }
        let store = TokenStore(connection)
        do {
            try await store.check(app: app)
        } catch let error as PostgresError where error.sqlState == SQLState.undefinedObject {
            throw CommandError(.failed, "There is no app named \(app).", hint: error.hint)
        }
        let rejects = try invocation.settings.text(.rejects).map { path throws(FileError) in
            try RefusedLineFile(path, besides: source)
        }
        defer { rejects?.close() }
        if source.isTerminal { console.note("Reading tokens from the terminal; Ctrl-D ends them.") }
        let start = MonotonicInstant.now
        let connection = self.connection
        let tally = try await Interruption.cancelling(
            on: loop,
            // Does not wait for PostgreSQL.
            again: { Task { await connection.close() } },
            { await follow(source, store, rejects, since: start) }
        )
        return try end(tally, source, after: MonotonicInstant.now - start)
    }

    private func follow(
        _ source: InputFile,
        _ store: TokenStore,
        _ rejects: RefusedLineFile?,
        since start: MonotonicInstant
    ) async -> ImportTally {
        var work = TokenImport(
            source,
            into: store,
            app: app,
            on: loop,
            rejects: rejects,
            kind: invocation.settings.text(.kind).flatMap { TokenKind(rawValue: $0) },
            now: WallClock.microseconds
        )
        var display = ImportDisplay(console: console, start: start, size: source.size)
        let tally = await work.run { tally, refused in display.show(tally, refused) }
        display.end(tally, otherColumns: work.otherColumns, unknownKinds: work.unknownKinds, hasFile: rejects != nil)
        return tally
    }

    private func end(_ tally: ImportTally, _ source: InputFile, after time: Duration) throws -> ExitStatus {
        if tally.failure == nil || tally.written > 0 { report(tally, time) }
        if let failure = tally.failure {
            if let error = failure as? CSVFileError {
                throw CommandError(.configuration, "Cannot import \(source.name): \(error.reason)")
            }
            if tally.line > 0 { console.note(resumption(tally)) }
            if let error = failure as? PostgresError, error.sqlState == SQLState.insufficientPrivilege,
                error.message.contains("temporary")
            {
                throw CommandError(
                    .configuration,
                    error.message.asSentence,
                    hint: "Importing needs temporary tables: GRANT TEMPORARY ON DATABASE ... TO this login."
                )
            }
            throw failure
        }
        if tally.isInterrupted {
            throw CommandError(.tryAgain, "It was interrupted before it was done.", hint: resumption(tally))
        }
        return tally.refused > 0 ? .failed : .done
    }

    private func resumption(_ tally: ImportTally) -> String {
        "The file is imported up to line \(tally.line). Run it again: tokens that are imported stay as they are."
    }

    private func report(_ tally: ImportTally, _ time: Duration) {
        if invocation.settings.isOn(.json) {
            console.print(json: [
                "app": app, "lines": tally.lines, "imported": tally.written, "new": tally.new,
                "changed": tally.changed, "known": tally.known, "refused": tally.refused, "last_line": tally.line,
                "complete": tally.failure == nil && !tally.isInterrupted, "seconds": Double(time.secondsText) ?? 0,
            ])
            return
        }
        let rate = Int(Double(tally.written) / max(0.001, time.seconds))
        let tokens = Counted.text(Int64(tally.written), "token")
        console.print(
            "Imported \(tokens) into \(app) in \(time.secondsText) s (\(rate.grouped) a second): "
                + "\(tally.new.grouped) new, \(tally.changed.grouped) changed, \(tally.known.grouped) known already."
        )
    }
}
