import FoundationEssentials

/// Seconds since 1970, in which payloads and provider tokens give times.
enum UnixTime {
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
