/// How important a line of a log is.
package enum LogLevel: String, Comparable, CaseIterable, Sendable {
    case debug, info, warning, error

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}
