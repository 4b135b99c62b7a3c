/// What goes on in a backend, for those who watch.
package struct Traffic: Sendable {
    /// Connections that are open now.
    package internal(set) var connections = 0
    /// From the submission of a push to its answer, whatever that says.
    package internal(set) var answerTimes = DurationHistogram()

    package init() {}
}
