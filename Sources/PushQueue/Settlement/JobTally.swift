/// How many pushes of a job ended, and how, and how many did not.
struct JobTally: Equatable, Sendable {
    /// The place of the job in the claim.
    let job: Int32
    var sent: Int32 = 0
    var failed: Int32 = 0
    var expired: Int32 = 0
    /// Pushes that go back to the queue and have used up an attempt.
    var retried: Int32 = 0
    /// Pushes that go back to the queue without using up an attempt.
    var returned: Int32 = 0
    /// Pushes that have not ended.
    var pending: Int32 = 0
    /// Its message has a row in `unfinished`: the job was split off or is a retry, or some of it was settled.
    var isKnown = false

    var ended: Int32 { sent + failed + expired }
    var goingBack: Int32 { retried + returned }
    var remaining: Int32 { goingBack + pending }
}
