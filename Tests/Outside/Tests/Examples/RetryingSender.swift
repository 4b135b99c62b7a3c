import ApplePush

/// Repeats what is worth it. It waits for nothing, as a test should.
struct RetryingSender {
    let apns: APNs
    let app: App

    private func wait(_ pause: Duration) async throws {}
    private func report(_ text: String) { app.report(text) }
    private func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) {
        app.forget(token, unlessRegisteredAfter: timestamp)
    }

    func send(_ message: APNs.Message, attempts: Int = 6) async throws {
        var message = message
        var pause = Duration.seconds(2)
        for attempt in 1...attempts {
            do {
                let result = try await apns.send(message)
                for dead in result.feedback { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
                guard let retry = result.retry(), !result.isCancelled, !result.isCredentialRefused else {
                    return report("\(result)")
                }
                message = retry
                if let seconds = result.retryAfter { pause = max(pause, .seconds(seconds)) }
            } catch {
                guard error.isRetryable else { throw error }
                report("\(error)")
            }
            if attempt == attempts { break }
            try await wait(pause * Double.random(in: 0.5...1.5))
            pause = min(pause * 2, .seconds(900))
        }
        report("given up: \(message.tokens.count) tokens")
    }
}
