extension Flight {
    /// What a worker asks about the pushes of a claim before it sends them.
    enum Question: Hashable, Sendable {
        /// Which updates are the newest, and their times.
        case order
        /// Which background pushes are due, given the hourly limit of a device.
        case pace(max: Int32)

        /// What PostgreSQL does to answer it, in words for an operator.
        var purpose: String {
            switch self {
            case .order: "order the app's updates"
            case .pace: "say which background pushes of the app are due"
            }
        }

        /// The pushes of the batch that it is about.
        func positions(in jobs: ClaimedJobs) -> [Int32] {
            switch self {
            case .order: jobs.updates
            case .pace: jobs.paced
            }
        }
    }
}
