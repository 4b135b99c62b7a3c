import CarillonIO
import CarillonText

struct LogStyle: Sendable {
    let format: Log.Format
    let stream: TextStream

    func line(_ level: LogLevel, _ message: String, _ fields: [(String, JSONValue)]) -> String {
        let now = WallClock.microseconds
        switch format {
        case .json:
            return JSONValue.object(
                [
                    ("time", .string(TimeText.milliseconds(now))), ("level", .string(level.rawValue)),
                    ("message", .string(message)),
                ]
                    + fields
            ).text + "\n"
        case .text:
            let word = level.rawValue.padding(to: 7)
            let rest = fields.map { " \($0)=" + Self.plain($1) }.joined()
            return [
                stream.styled(TimeText.timeOfDay(now), .dim), colour(level).map { stream.styled(word, $0) } ?? word,
                message.visible,
            ]
            .joined(separator: " ") + stream.styled(rest, .dim) + "\n"
        }
    }

    private func colour(_ level: LogLevel) -> TextStream.Style? {
        switch level {
        case .error: .red
        case .warning: .yellow
        case .debug, .info: nil
        }
    }

    /// For people, a string is quoted only if it would run into the next field.
    private static func plain(_ value: JSONValue) -> String {
        if case .string(let text) = value, !text.contains(where: { $0.isWhitespace || $0 == "\"" }) {
            return text.visible
        }
        return value.text.visible
    }
}
