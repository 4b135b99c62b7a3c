import IO

/// How long to wait before something that failed is tried again: hardly at all at first, then more and more rarely, and
/// never in step with others.
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
