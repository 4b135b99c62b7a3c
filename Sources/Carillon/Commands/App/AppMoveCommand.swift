import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonText

extension Command {
    static let appMove = Command(
        "app move",
        roles: [],
        summary: "Move an app to another database, while both are in use.",
        discussion: """
            Copies the app with its credential, device tokens, jobs and history. The app sends from the source until a commit there,
            and from the target after it. Nothing is lost. Callers may enqueue in the source until that commit; then the source
            refuses the app, and they must use the target.

            Run it again if it was interrupted: it continues. docs/moving.md describes each step. It needs the owner of the schema
            in both databases, with the same version of the schema.
            """,
        arguments: [Argument("NAME", "The app.")],
        options: [.to, .moveStatus, .cancelMove, .json, .database],
        exits: [.tryAgain: "Pushes or transactions did not end in time. Nothing is lost: run it again."],
        examples: [
            "carillon app move acme --to-file new.url",
            "carillon app move acme --status",
        ],
        run: { invocation in
            let command = AppMoveCommand(invocation: invocation)
            if invocation.settings.isOn(.moveStatus) { return try await command.status() }
            let target = invocation.settings.database(.to)
            if invocation.settings.isOn(.cancelMove) { return try await command.cancel(target) }
            guard let target else { throw UsageError("'carillon app move' needs --to URL, or --status.") }
            return try await command.run(to: target)
        }
    )
}

private struct AppMoveCommand: Sendable {
    let invocation: Invocation

    private var app: String { invocation.name }

    private func withMove(
        to target: DatabaseSetting,
        report: @escaping @Sendable (MoveStep) -> Void = { _ in },
        _ body: (AppMove) async throws -> Void
    ) async throws {
        let labels = (
            source: DatabaseLabel.of(invocation.settings.databases.last?.text ?? ""),
            target: DatabaseLabel.of(target.text)
        )
        do {
            try await of("the source \(labels.source)") {
                try await DatabaseScope.with(invocation) { source, loop in
                    try await of("the target \(labels.target)") {
                        try await DatabaseScope.with(invocation, on: loop, database: target.source) { target in
                            try await body(
                                AppMove(of: app, from: source, to: target, labels: labels, on: loop, report: report)
                            )
                        }
                    }
                }
            }
        } catch {
            throw Self.explain(error)
        }
    }

    /// Names the database that cannot be connected to. The errors of a move have names already.
    private func of(_ database: String, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as PostgresError {
            throw error.of(database)
        }
    }

    private static func explain(_ error: any Error) -> CommandError {
        switch error {
        case let error as UnfinishedMove:
            let cause = explain(error.cause)
            let hindrance = explain(error.hindrance).sentence
            return CommandError(
                cause.status,
                "\(cause.sentence) What the move had begun could not be undone: \(hindrance)",
                hint:
                    "Run this again, or undo the move with --cancel: until then, the app may be paused in the source.",
                lacksRights: cause.lacksRights
            )
        case let error as SettingsError where error.code == .inUse: return CommandError(.tryAgain, error.message)
        default: return CommandError(explaining: error)
        }
    }

    func run(to target: DatabaseSetting) async throws -> ExitStatus {
        let console = invocation.console
        let label = DatabaseLabel.of(target.text)
        let line = ProgressLine(console.errors)
        let isJSON = invocation.settings.isOn(.json)
        let report = { @Sendable (step: MoveStep) in
            if let text = step.progress { return line.show(text) }
            line.clear()
            if let text = step.text(label), !isJSON { console.print(text) }
        }
        defer { line.clear() }
        try await withMove(to: target, report: report) { try await $0.run() }
        if isJSON { return try await status() }
        console.print("Moved the app \(app) to \(label).")
        return .done
    }

    func cancel(_ target: DatabaseSetting?) async throws -> ExitStatus {
        guard let target else {
            try await DatabaseScope.with(invocation) { source, _ in try await AppMove.cancel(app, from: source) }
            invocation.console.print(
                "The app \(app) stays. The same with --to deletes what was copied to the target."
            )
            return .done
        }
        try await withMove(to: target) { try await $0.cancel() }
        invocation.console.print("The app \(app) stays.")
        return .done
    }

    // MARK: Status

    private struct Move: Decodable, JSONConvertible, Sendable {
        let isSource: Bool
        let peer: String
        let startedAt: Moment
        let movedAt: Moment?
        let endedAt: Moment?
        let jobs: Int64
        let tokens: Int64

        var json: JSONValue {
            [
                "direction": isSource ? "to" : "from", "database": peer, "started_at": startedAt, "moved_at": movedAt,
                "ended_at": endedAt, "jobs": jobs, "tokens": tokens,
            ]
        }

        var text: String {
            let left = "\(Counted.text(jobs, "job")) and \(Counted.text(tokens, "device token"))"
            switch (isSource, movedAt, endedAt) {
            case (true, nil, _): return "It is moving to \(peer) since \(startedAt.text), and still sends from here."
            case (true, let moved?, nil):
                return
                    "It has moved to \(peer) at \(moved.text). Here are still \(left): run 'carillon app move' again."
            case (true, _, let ended?):
                return "It has moved to \(peer), completely at \(ended.text). Since then, \(left) were written here"
                    + (jobs + tokens > 0 ? ": run 'carillon app move' again." : ".")
            case (false, nil, _): return "It is being moved here from \(peer) since \(startedAt.text)."
            case (false, let moved?, nil):
                return "It has moved here from \(peer) at \(moved.text). Its history follows."
            case (false, _, let ended?): return "It has moved here from \(peer), completely at \(ended.text)."
            }
        }
    }

    private static let move = Statement(
        "move_status",
        """
        SELECT m.is_source, m.peer, m.started_at, m.moved_at, m.ended_at,
            (SELECT count(*) FROM carillon.messages j WHERE j.app_id = a.id)
                + (SELECT count(*) FROM carillon.scheduled j WHERE j.app_id = a.id) AS jobs,
            (SELECT count(*) FROM carillon.tokens t WHERE t.app_id = a.id) AS tokens
        FROM carillon.moves m JOIN carillon.apps a ON a.id = m.app_id WHERE a.name = $1
        """
    )

    func status() async throws -> ExitStatus {
        let move: Move? = try await DatabaseScope.with(invocation, to: .any) { connection, _ in
            try await AppStore(connection).require(app)
            let moves: [Move] = try await connection.values(of: Self.move, Parameters(app))
            return moves.first
        }
        invocation.show(move?.json ?? .null) { console in
            console.print("\(app): \(move?.text ?? "It has not been moved.")")
        }
        return .done
    }
}

extension MoveStep {
    /// What a line shows that is replaced by the next.
    fileprivate var progress: String? {
        switch self {
        case .copied(let tokens): "Copying device tokens: \(tokens.grouped)"
        case .history(let rows): "Moving history: \(rows.grouped) rows"
        case .deleted(let tokens): "Deleting device tokens in the source: \(tokens.grouped)"
        default: nil
        }
    }

    fileprivate func text(_ target: String) -> String? {
        switch self {
        case .begun: "The app is known in \(target), and still sends from the source."
        case .drained: "The source has paused the app, and nothing is in flight."
        case .left: "The app has left the source: callers must use \(target) now."
        case .live: "The target sends. History follows."
        default: nil
        }
    }
}
