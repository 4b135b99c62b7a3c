import CarillonHTTP2
import CarillonIO

/// The state that all connections of a server share: the judge, the recorder, and memory that is reused for each request.
struct ServerState: ~Copyable {
    private static let usualStreams: UInt32 = 1000

    var judge: Judge
    var recorder: Recorder
    var ids = MessageIDMaker()
    let configuration: SimulatorConfiguration
    let isSandbox: Bool
    /// Collects the device tokens that are answered with 410; nil without a feedback service.
    let deadTokens: SharedDeadTokenList?
    private let refusals = APNsRefusal.allCases.map { GatewayAnswer($0) }
    private let rules: [GatewayAnswer]

    /// The last input, and the next answer.
    var input = [UInt8](repeating: 0, count: 32_768)
    var block = HeaderBlock(status: 200)
    var id: [UInt8] = []
    /// The time in milliseconds since 1970, read once each time a connection is served.
    private(set) var now: Int64 = 0

    init(
        _ configuration: SimulatorConfiguration,
        deadTokens: SharedDeadTokenList?,
        channels: ChannelTable
    ) throws(SimulatorError) {
        self.configuration = configuration
        judge = Judge(configuration, channels: channels)
        recorder = try Recorder(configuration)
        rules = configuration.answers.map { GatewayAnswer($0) }
        isSandbox = configuration.environment == .sandbox
        self.deadTokens = deadTokens
    }

    func answer(to judgement: Judgement) -> GatewayAnswer {
        switch judgement {
        case .accepted, .broadcast: .accepted
        case .managed(let answer): GatewayAnswer(answer)
        case .refused(let refusal): refusals[Int(refusal.rawValue)]
        case .ruled(let rule): rules[rule]
        }
    }

    /// How many streams a connection may have, before or after it has shown a good credential.
    func streams(isTrusted: Bool) -> UInt32 {
        configuration.maximumStreams ?? (isTrusted ? Self.usualStreams : 1)
    }

    mutating func readClock() { now = WallClock.milliseconds }
}
