import CarillonIO

/// Long computations of tests, such as simulations and fuzzing, on a thread of their own.
///
/// All other tests share a few threads. If simulations ran there too, each step of another test would wait for tenths of a
/// second, and its servers and workers would miss their time limits.
package enum Computing {
    private static let loop: EventLoop = {
        do {
            return try EventLoop(name: "computing")
        } catch {
            fatalError("the thread for computations cannot start: \(error)")
        }
    }()

    package static func run<R>(_ body: () async throws -> R) async rethrows -> R {
        try await withTaskExecutorPreference(loop) {
            // The preference counts from the next suspension on.
            await Task.yield()
            return try await body()
        }
    }
}
