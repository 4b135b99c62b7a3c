import CarillonText

/// Where a command prints: results to standard output, everything else to standard error.
struct Console: Sendable {
    let output: TextStream
    let errors: TextStream
    let log: Log
    let redactor: Redactor

    init(settings: Settings, environment: [String: String]) {
        output = TextStream(descriptor: 1, environment: environment)
        errors = TextStream(descriptor: 2, environment: environment)
        redactor = Redactor(settings.secrets)
        let format: Log.Format =
            switch settings.text(.logFormat) {
            case "json": .json
            case "text": .text
            default: errors.isTerminal ? .text : .json
            }
        let threshold = settings.text(.logLevel).flatMap(LogLevel.init) ?? .info
        log = Log(stream: errors, format: format, threshold: threshold, redactor: redactor)
    }

    /// A line of the result.
    func print(_ line: String) { output.write(line + "\n") }

    func print(_ table: TextTable) { output.write(table.text(for: output)) }

    func print(json value: JSONValue) { output.write(value.text + "\n") }

    /// A remark to the user; not part of the result.
    func note(_ line: String) { errors.write(redactor.clean(line) + "\n") }

    func warn(_ line: String) { note(errors.styled("warning: ", .yellow) + line) }

    /// Reports why a command failed. A service reports it in its log, but wrong usage on standard error.
    func report(_ error: CommandError, isService: Bool) {
        if isService, log.format == .json, error.status != .usage {
            log.error(error.sentence, error.hint.map { ["hint": $0] } ?? [:])
        } else {
            errors.complain(redactor.clean(error.text))
        }
    }
}
