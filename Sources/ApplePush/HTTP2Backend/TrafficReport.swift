/// What went on on one connection since it was last told of.
struct TrafficReport {
    private(set) var answerTimes = DurationHistogram()
    private(set) var lateAnswers = 0
    private(set) var isEmpty = true

    /// An answer took so long.
    mutating func answered(after nanoseconds: Int64) {
        self.answerTimes.add(nanoseconds: nanoseconds)
        self.isEmpty = false
    }

    /// An answer did not come in time.
    mutating func late() {
        self.lateAnswers += 1
        self.isEmpty = false
    }

    mutating func removeAll() {
        self.answerTimes.removeAll()
        self.lateAnswers = 0
        self.isEmpty = true
    }
}
