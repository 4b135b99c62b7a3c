import IO

/// How many frames a server may send for the answers that it gives. The protocol engine takes any number of frames that
/// mean nothing; a server that has nothing else to say is left.
struct FrameBudget {
    private static let framesAnAnswer = 20
    private static let framesForNothing = 1_000
    private static let window: Duration = .seconds(10)

    private var began: MonotonicInstant
    private var frames: UInt64 = 0
    private var answers = 0

    init(at now: MonotonicInstant) { self.began = now }

    /// Whether so many frames and so many answers, counted from the connection's beginning, are in order.
    mutating func allows(frames: UInt64, answers: Int, at now: MonotonicInstant) -> Bool {
        if now - self.began >= Self.window {
            self.began = now
            self.frames = frames
            self.answers = answers
        }
        return frames - self.frames <= UInt64(Self.framesForNothing + Self.framesAnAnswer * (answers - self.answers))
    }
}
