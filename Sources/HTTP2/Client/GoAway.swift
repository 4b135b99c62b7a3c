package struct GoAway: Hashable, Sendable {
    /// Streams above this one were not processed, and have been reported as ended.
    package let lastStream: Int32
    package let errorCode: ErrorCode
}
