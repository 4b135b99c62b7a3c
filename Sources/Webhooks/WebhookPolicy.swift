package import CarillonHTTPClient
import CarillonIO

/// Decides what follows from the outcome of a request: the next batch, another attempt, or a pause.
package enum WebhookPolicy {
    package enum Decision: Sendable, Equatable {
        case accepted
        /// - Parameter error: a sentence about the receiver, without a full stop.
        case retry(after: Duration, error: String)
        case pause(error: String)
        /// Nothing is known, and nothing is recorded: the batch is attempted again once the claim is over.
        case abandon
    }

    package static let firstWait = Duration.seconds(5)
    package static let longestWait = Duration.seconds(3_600)
    /// How long attempts may fail before the webhook is paused.
    package static let maxFailing = Duration.seconds(3 * 86_400)
    /// A receiver that takes longer is slow: its webhook is attempted among those that fail.
    package static let maxPrompt = Duration.seconds(2)

    private static let gone = 410

    /// - Parameters:
    ///   - attempt: the number of the attempt, from 1.
    ///   - failing: for how long all attempts before it have failed; nil if the last one did not.
    package static func decide(
        _ outcome: HTTPOutcome,
        attempt: Int,
        failing: Duration?,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        let error: String
        var asked = Duration.zero
        switch outcome {
        case .stopped: return .abandon
        case .answered(200..<300, _, _): return .accepted
        case .answered(gone, _, _): return .pause(error: "the receiver answered 410, so it wants no more")
        case .answered(300..<400, _, _) where isRedirect(outcome):
            error = "the receiver redirects, which is not followed"
        case .answered(let status, let retryAfter, _):
            error = "the receiver answered \(status)"
            asked = retryAfter ?? .zero
        case .failed(let why): error = "the request to the receiver failed: \(why)"
        }
        if let failing, failing >= maxFailing {
            return .pause(error: "attempts have failed for three days; at last, \(error)")
        }
        return .retry(after: max(wait(after: attempt, using: &generator), min(asked, longestWait)), error: error)
    }

    /// PostgreSQL has refused a statement about the batch: the receiver is not to blame, so the webhook is not paused.
    package static func refused(
        _ message: String,
        attempt: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        .retry(after: wait(after: attempt, using: &generator), error: "PostgreSQL refuses its events: \(message)")
    }

    private static func wait(after attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        var backOff = BackOff(from: firstWait, to: longestWait, after: attempt)
        return backOff.next(using: &generator)
    }

    private static func isRedirect(_ outcome: HTTPOutcome) -> Bool {
        if case .answered(let status, _, _) = outcome { [301, 302, 303, 307, 308].contains(status) } else { false }
    }
}
