import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

extension ChannelRecord {
    /// The channel with this reference or id. A reference takes precedence over the id of another channel.
    static func one(_ key: String, of app: String, on connection: PostgresConnection) async throws -> ChannelRecord {
        guard let row = try await all(key, of: app, from: connection).first else {
            throw CommandError(
                .failed,
                "The app \(app) has no channel \(key).",
                hint:
                    "'carillon channel list --app \(app.shellQuoted)' lists them, 'carillon channel create' creates one."
            )
        }
        return row
    }

    /// Polls until no request is left to wait for, or looks once with `--wait 0s`.
    /// - Parameters:
    ///   - unfinished: The error, as a sentence, if `--wait` is over before.
    ///   - pending: The channel; nil once what was requested is done.
    /// - Returns: Whether it is done.
    static func wait(
        _ invocation: Invocation,
        on loop: EventLoop,
        orSay unfinished: String,
        _ pending: () async throws -> ChannelRecord?
    ) async throws -> Bool {
        let wait = invocation.settings.duration(.channelWait)
        let end = MonotonicInstant.now + wait
        while let row = try await pending() {
            if wait == .zero { return false }
            guard MonotonicInstant.now < end else {
                throw CommandError(
                    .tryAgain,
                    unfinished + (row.error.map { " The last attempt failed. \($0)" } ?? ""),
                    hint:
                        "Check that a worker is running and that the app is not paused. Run the command again to keep waiting."
                )
            }
            try await loop.sleep(for: .milliseconds(200))
        }
        return true
    }
}
