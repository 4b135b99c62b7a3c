import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let status = Command(
        "status",
        roles: ["carillon_reader", "carillon_worker"],
        summary: "Show what waits, what was sent and what failed for each app, and which workers are alive.",
        discussion: """
            With --watch, repeats this until it is interrupted or its output is closed, and reconnects when the database restarts.
            With several databases, shows those that can be read, and why the others cannot.

            With --json, prints an object with two arrays. apps has members named like the columns of app_status and, as
            scheduled, the number of jobs that are due later. workers has members named like the columns of worker_status.
            Durations are in seconds, such as oldest_age_seconds. With several databases, each app and worker also has a member
            database, and a third array, failures, has the database, error and hint of each that cannot be read.
            """,
        options: [.watch, .interval, .json, .databases],
        examples: ["carillon status --watch", "carillon status --json | jq '.apps[] | select(.ready > 1000)'"],
        run: { invocation in
            try await EventLoop.with(name: "command") { loop in
                try await Interruption.cancelling(on: loop) {
                    try await StatusWatch(invocation: invocation, loop: loop).run()
                }
            }
        }
    )
}

/// Prints the status once, or repeatedly until it is interrupted or its reader has gone.
private struct StatusWatch {
    let invocation: Invocation
    let loop: EventLoop

    func run() async throws -> ExitStatus {
        let databases = invocation.settings.databases
        let readers = zip(DatabaseLabel.ifSeveral(databases.map(\.text)), databases).map { label, database in
            StatusReader(label: label, database: database.source, command: invocation.command, loop: loop)
        }
        return try await Cleanup.after({ for reader in readers { await reader.close() } }) {
            try await show(readers)
        }
    }

    private var isWatching: Bool { invocation.settings.isOn(.watch) }

    private func show(_ readers: [StatusReader]) async throws -> ExitStatus {
        let console = invocation.console
        var hasShown = false
        while true {
            // At once, so that databases that do not answer delay it only once.
            let snapshot = StatusSnapshot(databases: await readers.mapAtOnce { await $0.read() })
            let failures = snapshot.databases.compactMap(\.failure)
            if readers.count == 1, let failure = failures.first {
                // A server that restarts will come back. If it was never reached, that is an error.
                guard hasShown, isWatching, failure.status == .unavailable || failure.status == .tryAgain,
                    !Task.isCancelled
                else { throw failure }
                console.note("\(failure.sentence) Trying again.")
            } else {
                invocation.show(snapshot.json.cleaned(by: console.redactor)) { console in
                    // On a terminal, each snapshot replaces the one before.
                    if isWatching, console.output.isTerminal { console.output.write("\u{1B}[H\u{1B}[2J") }
                    console.output.write(console.redactor.clean(snapshot.text(for: console.output)))
                }
                hasShown = true
            }
            guard isWatching else { return .worst(of: failures.map(\.status)) }
            guard !console.output.fault.isReaderGone, console.output.fault.sentence == nil, await rest() else {
                return .done
            }
        }
    }

    /// False if it was interrupted, which is the normal end of watching.
    private func rest() async -> Bool {
        do {
            try await loop.sleep(for: invocation.settings.duration(.interval))
            return true
        } catch {
            return false
        }
    }
}

/// Reads the status of one database, over a connection that it keeps.
private actor StatusReader {
    private let label: String?
    private let database: DatabaseSource
    private let command: Command
    private let loop: EventLoop
    private var connection: PostgresConnection?

    init(label: String?, database: DatabaseSource, command: Command, loop: EventLoop) {
        self.label = label
        self.database = database
        self.command = command
        self.loop = loop
    }

    func read() async -> StatusSnapshot.Database {
        do {
            let connection = try await connected()
            let apps = try await AppStatus.all(from: connection)
            let workers = try await WorkerRecord.all(from: connection)
            return StatusSnapshot.Database(label: label, apps: apps, workers: workers)
        } catch {
            await close()
            let failure = CommandError(explaining: error).naming(rolesFor: command)
            return StatusSnapshot.Database(label: label, failure: failure)
        }
    }

    private func connected() async throws -> PostgresConnection {
        if let connection { return connection }
        let opened = try await DatabaseScope.open(database, on: loop, application: "carillon status")
        connection = opened
        return opened
    }

    func close() async {
        await connection?.close()
        connection = nil
    }
}
