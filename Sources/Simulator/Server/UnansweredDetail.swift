import HTTP2

/// What the log says of requests that nobody answered.
enum UnansweredDetail {
    /// It came in full.
    static let ended = "The connection ended before it was answered."

    /// The stream was reset here.
    /// - Parameter isFirst: The connection has shown no good credential yet.
    static func reset(_ code: ErrorCode, _ fault: String?, isFirst: Bool) -> String {
        if code == .refusedStream {
            return isFirst
                ? "The stream was refused (REFUSED_STREAM): a connection has one until its first good provider token."
                : "The stream was refused (REFUSED_STREAM): more were open than the SETTINGS allow."
        }
        return "The stream was reset (\(code))\(fault.map { ": \($0)" } ?? "")."
    }

    /// It did not come in full.
    static func abandoned(_ code: ErrorCode?) -> String {
        // With REFUSED_STREAM the session itself closes what lies above its own GOAWAY.
        guard let code, code != .refusedStream else { return "The connection ended before the request was complete." }
        return "The client reset the stream (\(code)) before the request was complete."
    }
}
