import CarillonIO

/// The signals that ask a command to end.
enum Interruption {
    /// A closed terminal sends SIGHUP. Under nohup it is ignored, and remains so.
    private static var signals: [Signal] {
        [.terminate, .interrupt, .quit] + (Signal.hangUp.isIgnored ? [] : [.hangUp])
    }

    /// Runs the body. Calls `signalled` with 1 for the first signal, 2 for the second, and so on.
    static func with<R: Sendable>(
        on loop: EventLoop,
        signalled: @escaping @Sendable (Int) -> Void,
        _ body: () async throws -> R
    ) async throws -> R {
        let watch = try SignalWatch(signals, on: loop)
        let reader = Task {
            var count = 0
            for await _ in watch.signals {
                count += 1
                signalled(count)
            }
        }
        return try await Cleanup.after(
            {
                watch.close()
                await reader.value
            },
            body
        )
    }

    /// Runs the body in a task that the first signal cancels. Each later one calls `again`.
    static func cancelling<R: Sendable>(
        on loop: EventLoop,
        again: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let watch = try SignalWatch(signals, on: loop)
        // The task starts only now, because the first signal may follow its first line of output.
        let task = Task { try await body() }
        let reader = Task {
            for await _ in watch.signals {
                if task.isCancelled { again() } else { task.cancel() }
            }
        }
        return try await Cleanup.after(
            {
                watch.close()
                await reader.value
            },
            { try await task.value }
        )
    }

    /// Runs the body, which starts something, and then waits for the first signal. A signal that arrives during the
    /// start counts.
    static func wait(on loop: EventLoop, after start: () async throws -> Void) async throws {
        let watch = try SignalWatch(signals, on: loop)
        defer { watch.close() }
        try await start()
        for await _ in watch.signals { break }
    }
}
