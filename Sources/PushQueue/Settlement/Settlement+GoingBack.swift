extension Settlement {
    /// Pushes of one job that wait for another attempt.
    struct GoingBack: Equatable, Sendable {
        let job: Int32
        /// Places in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which goes back unchanged.
        var isWhole = false
        let attempt: Int16
        /// Milliseconds; nil: at once.
        let delay: Int32?
        /// The cause of most of them; nil: no answer came.
        let cause: RetryCause?
    }
}
