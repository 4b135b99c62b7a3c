import CarillonIO

/// Runs the body and then the ending, even if the body fails.
func scope<R>(_ body: () async throws -> R, ending: () async -> Void) async throws -> R {
    do {
        let result = try await body()
        await ending()
        return result
    } catch {
        await ending()
        throw error
    }
}

extension EventLoop {
    static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: "benchmark")
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }
}

extension MonotonicInstant {
    /// The seconds since this instant.
    var age: Double { (MonotonicInstant.now - self) / .seconds(1) }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
