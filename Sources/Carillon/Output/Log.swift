/// What the program says while it works: text for a person at a terminal, JSON lines for everything else.
///
/// Saying it never waits for whoever reads it: see `LogQueue`.
final class Log: Sendable {
    enum Format: Sendable { case text, json }

    let format: Format
    let threshold: LogLevel
    private let style: LogStyle
    private let redactor: Redactor
    private let queue: LogQueue

    init(stream: TextStream, format: Format, threshold: LogLevel, redactor: Redactor) {
        self.format = format
        self.threshold = threshold
        self.redactor = redactor
        let style = LogStyle(format: format, stream: stream)
        self.style = style
        queue = LogQueue(
            write: { stream.write($0) },
            lost: {
                style.line(
                    .warning,
                    "Lines of the log were lost: its reader is too slow.",
                    [("lines", .int(Int64($0)))]
                )
            }
        )
    }

    func debug(_ message: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) { write(.debug, message, fields) }
    func info(_ message: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) { write(.info, message, fields) }
    func warning(_ message: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        write(.warning, message, fields)
    }
    func error(_ message: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) { write(.error, message, fields) }

    func write(_ level: LogLevel, _ message: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        guard level >= threshold else { return }
        // Before it is made a line: a secret that is escaped there would not be known again.
        queue.add(style.line(level, redactor.clean(message), fields.map { ($0.key, $0.value.cleaned(by: redactor)) }))
    }

    /// Waits until what was said is out, but not for a reader that does not read.
    func flush(within limit: Duration = .milliseconds(500)) { queue.flush(within: limit) }
}
