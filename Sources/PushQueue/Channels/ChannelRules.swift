import ApplePush
import CarillonIO

/// What follows from Apple's answer to a request about a channel.
enum ChannelRules {
    enum Consequence: Equatable, Sendable {
        case made(ChannelID)
        case gone
        /// Nil for `again`: Apple will never do it.
        case failed(String, again: Duration?, isUnknown: Bool)
    }

    private static let shortest = Duration.seconds(5)
    private static let longest = Duration.seconds(900)

    static func consequence(
        of result: Result<ChannelRequest.Answer, ChannelError>,
        to task: ChannelTask,
        using random: inout some RandomNumberGenerator
    ) -> Consequence {
        switch result {
        case .success(.created(let channel)): return .made(channel)
        case .success(.removed): return .gone
        case .success:
            return .failed("The channel service answered a different request.", again: longest, isUnknown: true)
        case .failure(let error):
            if task.isRemoval, isGone(error) { return .gone }
            let isFinal = error.code == .refused && !error.isRetryable && !task.isRemoval
            let wait = isFinal ? nil : wait(after: task.attempt, error.retryAfter, using: &random)
            return .failed(error.message, again: wait, isUnknown: error.code == .unknown || error.code == .malformed)
        }
    }

    /// The channel service has answered, whatever it said.
    static func isAnswer(_ result: Result<ChannelRequest.Answer, ChannelError>) -> Bool {
        guard case .failure(let error) = result else { return true }
        return error.code != .unsent && error.code != .unknown
    }

    /// Apple has no such channel: it answers the removal of one with 404 BadPath.
    static func isGone(_ error: ChannelError) -> Bool {
        error.code == .refused
            && (error.status == 404 || error.reason == "ChannelNotRegistered" || error.reason == "BadChannelId")
    }

    private static func wait(
        after attempt: Int32,
        _ demanded: Int?,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        var backOff = BackOff(from: shortest, to: longest, after: Int(attempt))
        return max(backOff.next(using: &random), .seconds(min(demanded ?? 0, 86_400)))
    }
}
