import FoundationEssentials

/// Seconds since 1970, the unit of times in payloads and provider tokens.
enum UnixTime {
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
