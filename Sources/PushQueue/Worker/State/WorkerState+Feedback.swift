import IO

/// When to look whether a feedback pass is due.
extension WorkerState {
    /// After a pass that failed, nobody tries again before this is over.
    private static let waitAfterFailure = Duration.seconds(60)
    private static let longestWait = Duration.seconds(2)
    /// What was read is written as soon as there is a database again.
    private static let waitToWrite = Duration.milliseconds(500)

    mutating func feedbackWait() -> Duration {
        if self.isReadingFeedback { return Self.waitToWrite }
        let wait = self.hasFeedbackFailed ? Self.waitAfterFailure : Self.longestWait
        return min(wait, self.options.feedbackInterval / 2) * Double.random(in: 0.8...1.2, using: &self.random)
    }

    /// It has failed unless it is heard to have ended.
    mutating func feedbackBegan() { self.hasFeedbackFailed = true }
    mutating func feedbackEnded() { self.hasFeedbackFailed = false }
}
