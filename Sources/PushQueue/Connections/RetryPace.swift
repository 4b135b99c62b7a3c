import CarillonIO

/// The waits before a failed statement is tried again: up to 100 ms at first, then up to two seconds, with jitter.
struct RetryPace: Sendable {
    static let shortest = Duration.milliseconds(100)
    static let longest = Duration.seconds(2)

    private var most = Self.shortest

    mutating func succeeded() { most = Self.shortest }

    mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { most = min(most * 2, Self.longest) }
        return most * Double.random(in: 0.5...1, using: &generator)
    }
}
