import CarillonPostgres
import CarillonWeb

/// An action on the failures of an app between two times.
struct FailureSelection: Sendable {
    enum Operation: String, Sendable {
        case requeue, dismiss

        var verb: String { self == .requeue ? "Requeue" : "Dismiss" }
        var notice: Notice.Kind { self == .requeue ? .requeued : .dismissed }
    }

    let operation: Operation
    let app: String
    let reason: String?
    let includesUnknown: Bool
    /// Exclusive.
    var after: Moment
    let until: Moment

    var link: Link { Link("failures", operation.rawValue) }
    var listLink: Link { Link("failures", query: ["app": app, "reason": reason]) }

    var text: String {
        "of \(app) that failed\(reason.map { " as \($0)" } ?? "") after \(after.readable), until \(until.readable)"
    }
}
