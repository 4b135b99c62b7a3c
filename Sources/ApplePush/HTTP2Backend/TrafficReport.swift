/// What went on on one connection since it was last told of.
struct TrafficReport {
    private(set) var answerTimes = DurationHistogram()
    private(set) var lateAnswers = 0
    private(set) var isEmpty = true

    /// An answer took so long.
    mutating func answered(after nanoseconds: Int64) {
        answerTimes.add(nanoseconds: nanoseconds)
        isEmpty = false
    }

    /// An answer did not come in time.
    mutating func late() {
        lateAnswers += 1
        isEmpty = false
    }

    mutating func removeAll() {
        answerTimes.removeAll()
        lateAnswers = 0
        isEmpty = true
    }
}
