import CarillonPostgres
import CarillonSchema
import CarillonText

/// What `carillon check` prints of one thing: that it is in order, or what is wrong and what to do about it.
struct CheckLine: Sendable, JSONConvertible {
    enum Condition: String, Sendable { case ok, warning, failed }

    /// What was checked. `of` sets it.
    private(set) var subject = ""
    let condition: Condition
    let sentence: String
    let remedy: String?
    let status: ExitStatus
    /// The database it is about, if there are several.
    private(set) var database: String?

    static func ok(_ sentence: String) -> CheckLine {
        CheckLine(condition: .ok, sentence: sentence, remedy: nil, status: .done)
    }

    static func warning(_ sentence: String, remedy: String) -> CheckLine {
        CheckLine(condition: .warning, sentence: sentence, remedy: remedy, status: .done)
    }

    static func failed(_ sentence: String, remedy: String?, _ status: ExitStatus = .configuration) -> CheckLine {
        CheckLine(condition: .failed, sentence: sentence, remedy: remedy, status: status)
    }

    /// Nothing that is found in the records prevents a worker from working.
    static func warnings(_ findings: [Finding]) -> [CheckLine] {
        findings.map { .warning($0.sentence, remedy: $0.remedy) }
    }

    /// The lines of a check, or the error that prevented it. An inner check may have another subject.
    static func of(_ subject: String, _ check: () async throws -> [CheckLine]) async -> [CheckLine] {
        var lines: [CheckLine]
        do { lines = try await check() } catch { lines = [failed(by: error)] }
        for index in lines.indices where lines[index].subject.isEmpty { lines[index].subject = subject }
        return lines
    }

    /// From an error, with the error's own hint.
    private static func failed(by error: any Error) -> CheckLine {
        if let error = error as? PostgresError, error.sqlState == SQLState.lockNotAvailable {
            return .failed(
                "A lock that another session holds prevented this check: \(error.message).",
                remedy: "Check again when it is gone; the line 'locks' names sessions that have held one for long.",
                .tryAgain
            )
        }
        let error = CommandError(explaining: error)
        return .failed(error.sentence, remedy: error.hint, error.status)
    }

    func about(_ database: String?) -> CheckLine {
        var line = self
        line.database = database
        return line
    }

    func text(for stream: TextStream) -> String {
        let style: TextStream.Style = condition == .ok ? .green : condition == .warning ? .yellow : .red
        let mark = stream.styled(condition.rawValue.padding(to: 7), style)
        return "\(mark)  \(subject.padding(to: 12))  \(database.map { "\($0): " } ?? "")\(sentence)"
            + (remedy.map { "\n         → " + $0 } ?? "")
    }

    var json: JSONValue {
        .joined(
            ["subject": subject, "condition": condition.rawValue, "sentence": sentence, "remedy": remedy],
            database.map { ["database": $0] } ?? [:]
        )
    }
}
