extension Settlement {
    /// Pushes of one job that stay in flight.
    struct Stay: Equatable, Sendable {
        let job: Int32
        /// Places in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which stays unchanged.
        let isWhole: Bool
    }
}
