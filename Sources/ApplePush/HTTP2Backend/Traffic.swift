/// What goes on in a backend, for those who watch.
package struct Traffic: Sendable {
    /// Connections that are open now.
    package internal(set) var connections = 0
    /// From the submission of a push to its answer, whatever that says.
    package internal(set) var answerTimes = DurationHistogram()
    /// Pushes that were given up because their answer did not come in time.
    package internal(set) var lateAnswers = 0
    /// Connections that have ended, or never came to be, by what ended them.
    package internal(set) var ends: [String: Int] = [:]

    package init() {}
}
