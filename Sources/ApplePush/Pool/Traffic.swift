/// What a backend does and has done, for metrics.
package struct Traffic: Sendable {
    /// Connections that are open now.
    package internal(set) var connections = 0
    /// The times from the submission of a push to its answer, whatever the answer.
    package internal(set) var answerTimes = DurationHistogram()
    /// Pushes abandoned because their answer did not arrive in time.
    package internal(set) var lateAnswers = 0
    /// Connections that have ended or could not be opened, by the name of their `ConnectionEnd`.
    package internal(set) var ends: [String: Int] = [:]

    package init() {}

    static func += (sum: inout Self, other: Self) {
        sum.connections += other.connections
        sum.answerTimes += other.answerTimes
        sum.lateAnswers += other.lateAnswers
        sum.ends.merge(other.ends, uniquingKeysWith: +)
    }
}
