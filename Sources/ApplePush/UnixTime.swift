import FoundationEssentials

/// Seconds since 1970, as the payload's and the provider token's times are counted.
enum UnixTime {
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
