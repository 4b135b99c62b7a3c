import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// The log: text for a person at a terminal, JSON lines for everything else.
///
/// Logging never waits for the reader: see `LogQueue`.
final class Log: Sendable {
    enum Format: Sendable { case text, json }

    let format: Format
    let threshold: LogLevel
    private let style: LogStyle
    private let redactor: Redactor
    private let queue: LogQueue
    /// Fields of every line.
    private let fields: [(String, JSONValue)]

    init(stream: TextStream, format: Format, threshold: LogLevel, redactor: Redactor) {
        self.format = format
        self.threshold = threshold
        self.redactor = redactor
        fields = []
        let style = LogStyle(format: format, stream: stream)
        self.style = style
        queue = LogQueue(
            write: { stream.write($0) },
            notice: {
                style.line(
                    .warning,
                    "Lines of the log were lost: they could not be written, or its reader was too slow.",
                    [("lines", .int(Int64($0)))]
                )
            }
        )
    }

    private init(_ log: Log, adding fields: [(String, JSONValue)]) {
        format = log.format
        threshold = log.threshold
        style = log.style
        redactor = log.redactor
        queue = log.queue
        self.fields = log.fields + fields
    }

    /// The same log, with these additional fields on every line.
    func adding(_ fields: KeyValuePairs<String, any JSONConvertible>) -> Log {
        Log(self, adding: fields.map { ($0.key, $0.value.json) })
    }

    func debug(_ message: String, _ fields: KeyValuePairs<String, any JSONConvertible> = [:]) {
        write(.debug, message, fields)
    }
    func info(_ message: String, _ fields: KeyValuePairs<String, any JSONConvertible> = [:]) {
        write(.info, message, fields)
    }
    func warning(_ message: String, _ fields: KeyValuePairs<String, any JSONConvertible> = [:]) {
        write(.warning, message, fields)
    }
    func error(_ message: String, _ fields: KeyValuePairs<String, any JSONConvertible> = [:]) {
        write(.error, message, fields)
    }

    func write(_ level: LogLevel, _ message: String, _ fields: KeyValuePairs<String, any JSONConvertible> = [:]) {
        write(level, message, fields.map { ($0.key, $0.value) })
    }

    func write(_ level: LogLevel, _ message: String, _ fields: [(String, any JSONConvertible)]) {
        guard level >= threshold else { return }
        // Cleaned before it is formatted: an escaped secret would not be recognized.
        let all = self.fields + fields.map { ($0.0, $0.1.json) }
        queue.add(style.line(level, redactor.clean(message), all.map { ($0.0, $0.1.cleaned(by: redactor)) }))
    }

    /// Programs filter by the name of the event, and people read its sentence.
    func write(_ event: WorkerEvent) {
        var fields: [(String, any JSONConvertible)] = event.fields.map { ($0, $1) }
        if format == .json { fields.insert(("event", event.kind.name), at: 0) }
        write(event.level, event.message, fields)
    }

    func tell(_ event: ServiceDatabase.Event) {
        switch event {
        case .lost(let cause):
            error("The database cannot be reached; requests fail until it is back.", ["error": "\(cause)"])
        case .back: info("The database is back.")
        }
    }

    var linesLost: Int { queue.lost }

    /// Waits until all lines are written, but not for a reader that does not read.
    func flush(within limit: Duration = .milliseconds(500)) { queue.flush(within: limit) }
}
