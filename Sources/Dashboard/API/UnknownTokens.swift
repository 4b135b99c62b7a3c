import CarillonIO
import CarillonText
import CarillonWeb

/// Limits requests with unknown API tokens of each address: a few at once, then one at each interval. A token that was known is
/// asked for whatever else comes from its address.
final class UnknownTokens: Sendable {
    /// The token is unknown or has expired.
    struct Refusal: Error {
        let digest: String
        let reason: String

        var problem: RequestError {
            RequestError(
                status: .unauthorized,
                detail: reason.asSentence,
                hint: "The owner of the schema creates one with: carillon api-token create."
            )
        }
    }

    private struct State {
        var sources: [AttemptLimits.Source: AttemptLimit] = [:]
        /// The app of each, by its digest.
        var known: [String: String] = [:]
    }

    static let interval = Duration.seconds(1)
    /// Requests that were sent together are all answered.
    static let atOnce = 20
    static let tooMany = RequestError(
        status: .tooManyRequests,
        detail: "Too many unknown tokens come from this address: wait a few seconds.",
        hint: "The owner of the schema creates a token with: carillon api-token create."
    )
    private static let maxKnown = 1_000

    private let access: WebAccess
    private let state = Guarded(State())

    init(_ access: WebAccess) { self.access = access }

    /// Whether PostgreSQL may be asked for the token.
    func mayAsk(_ digest: String, by request: Request, at now: MonotonicInstant) -> Bool {
        let source = access.source(of: request)
        return state.withLock { $0.known[digest] != nil || $0.sources[source]?.isUsedUp(at: now) != true }
    }

    /// The id of the app of a token that was known; nil if it was not.
    func app(of digest: String) -> String? { state.withLock { $0.known[digest] } }

    func knows(_ digest: String, of app: String) {
        state.withLock { state in
            if state.known.count >= Self.maxKnown { state.known.removeAll() }
            state.known[digest] = app
        }
    }

    func met(_ digest: String, by request: Request, at now: MonotonicInstant) {
        let source = access.source(of: request)
        state.withLock { state in
            state.known[digest] = nil
            state.sources = state.sources.filter { !$0.value.isUnused(at: now) }
            var limit = state.sources[source] ?? AttemptLimit(atOnce: Self.atOnce, interval: Self.interval)
            _ = limit.attempt(at: now)
            state.sources[source] = limit
        }
    }
}
