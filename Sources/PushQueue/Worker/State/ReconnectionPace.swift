/// How long to wait before each try to connect again: soon at first, then more rarely, and jittered, so that a fleet does
/// not come back all at once.
struct ReconnectionPace: Sendable {
    static let shortest = Duration.milliseconds(50)
    static let longest = Duration.seconds(3)

    private var current = Self.shortest

    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let wait = self.current * Double.random(in: 0.5...1, using: &generator)
        self.current = min(self.current * 2, Self.longest)
        return wait
    }
}
