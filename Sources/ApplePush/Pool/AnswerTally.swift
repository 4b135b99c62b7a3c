/// The answers on one connection since the meter last took them.
struct AnswerTally {
    private(set) var times = DurationHistogram()
    private(set) var late = 0
    private(set) var isEmpty = true

    mutating func answered(after nanoseconds: Int64) {
        times.add(nanoseconds: nanoseconds)
        isEmpty = false
    }

    mutating func wasLate() {
        late += 1
        isEmpty = false
    }

    mutating func removeAll() {
        times.removeAll()
        late = 0
        isEmpty = true
    }
}
