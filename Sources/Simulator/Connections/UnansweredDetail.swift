import CarillonHTTP2

/// The log's text for requests without an answer.
enum UnansweredDetail {
    /// The request was complete.
    static let ended = "The connection ended before it was answered."

    /// The simulator reset the stream.
    /// - Parameter isFirst: Whether the connection has not shown a good credential yet.
    static func reset(_ code: ErrorCode, _ fault: String?, isFirst: Bool) -> String {
        if code == .refusedStream {
            return isFirst
                ? "The stream was refused (REFUSED_STREAM): a connection has one until its first good provider token."
                : "The stream was refused (REFUSED_STREAM): more were open than the SETTINGS allow."
        }
        return "The stream was reset (\(code))\(fault.map { ": \($0)" } ?? "")."
    }

    /// The request was not complete.
    static func abandoned(_ code: ErrorCode?) -> String {
        // The session closes streams above its own GOAWAY with REFUSED_STREAM.
        guard let code, code != .refusedStream else { return "The connection ended before the request was complete." }
        return "The client reset the stream (\(code)) before the request was complete."
    }
}
