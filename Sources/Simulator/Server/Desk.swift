import Glibc
import HTTP2

/// What all connections of a server share: who judges, who records, and memory that each request uses anew.
struct Desk: ~Copyable {
    /// How APNs itself behaves where the configuration says nothing.
    static let usualStreams: UInt32 = 1000

    var judge: Judge
    var recorder: Recorder
    let answers: Answers
    var ids = MessageIDMaker()
    let isSandbox: Bool
    let delay: Duration
    let goAwayAfter: Int?
    let resetAfter: Int?
    let maximumStreams: UInt32?
    let window: Int32
    /// Where tokens that were answered with 410 are noted, if there is a feedback service to tell of them.
    let deadTokens: DeadTokens?

    /// What was read last, what goes back next.
    var input = [UInt8](repeating: 0, count: 32_768)
    var block = HeaderBlock(status: 200)
    var id: [UInt8] = []
    /// Milliseconds since 1970, as of the last bytes that came.
    private(set) var now: Int64 = 0

    init(_ configuration: SimulatorConfiguration, deadTokens: DeadTokens?) throws(SimulatorError) {
        judge = Judge(configuration)
        recorder = try Recorder(configuration)
        answers = Answers(rules: configuration.answers)
        isSandbox = configuration.environment == .sandbox
        delay = configuration.delay
        goAwayAfter = configuration.goAwayAfter
        resetAfter = configuration.resetAfter
        maximumStreams = configuration.maximumStreams
        window = Int32(configuration.window)
        self.deadTokens = deadTokens
    }

    /// How many streams a connection may have before it has shown a good credential, and after.
    func streams(isTrusted: Bool) -> UInt32 {
        maximumStreams ?? (isTrusted ? Self.usualStreams : 1)
    }

    mutating func readClock() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        now = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
