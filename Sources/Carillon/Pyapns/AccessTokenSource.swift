import CarillonIO

/// The access token of a service, read from a file that may change while the service runs.
final class AccessTokenSource: Sendable {
    private struct State {
        var token: AccessToken
        var readAt = MonotonicInstant.now
    }

    private static let interval = Duration.seconds(1)

    private let path: String?
    private let failed: @Sendable (String) -> Void
    private let state: Guarded<State>

    /// - Parameters:
    ///   - path: the file that the token was read from; nil if it was not read from a file.
    ///   - failed: called with the reason if the file cannot be used. The previous token then stays valid.
    init(_ token: AccessToken, path: String?, failed: @escaping @Sendable (String) -> Void) {
        state = Guarded(State(token: token))
        // Anything but a regular file can be read only once.
        self.path = path.flatMap { SmallFile.isRegular($0) ? $0 : nil }
        self.failed = failed
    }

    /// Reads the file again if it was last read a second ago or earlier.
    func current(at now: MonotonicInstant = .now) -> AccessToken {
        guard let path else { return state.withLock(\.token) }
        let isDue = state.withLock { state in
            guard now - state.readAt >= Self.interval else { return false }
            state.readAt = now
            return true
        }
        if isDue {
            do {
                let token = try AccessToken(try SmallFile.read(path).secret)
                state.withLock { $0.token = token }
            } catch let error as FileError {
                failed(error.sentence)
            } catch {
                failed("The file \(path): \((error as? UsageError)?.sentence ?? "\(error)")")
            }
        }
        return state.withLock(\.token)
    }
}
