extension Settlement {
    /// Counts of pushes.
    package struct Tally: Equatable, Sendable {
        package var sent = 0
        package var failed = 0
        package var expired = 0
        /// Updates of Live Activities that newer ones have replaced.
        package var superseded = 0
        /// Retries that have used up an attempt.
        package var retried = 0
        /// Pushes that went back without using up an attempt.
        package var returned = 0
        /// Attempts whose outcome is unknown.
        package var unknown = 0
        /// Failures with the reason BadDeviceToken.
        package var badTokens = 0
        /// Failures because of the topic.
        package var badTopics = 0

        /// Failures that the app's settings may cause.
        package var bad: Int { badTokens + badTopics }

        static func += (left: inout Self, right: Self) {
            left.sent += right.sent
            left.failed += right.failed
            left.expired += right.expired
            left.superseded += right.superseded
            left.retried += right.retried
            left.returned += right.returned
            left.unknown += right.unknown
            left.badTokens += right.badTokens
            left.badTopics += right.badTopics
        }
    }
}
