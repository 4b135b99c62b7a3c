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

extension MonotonicInstant {
    /// The seconds since this instant.
    var age: Double { (MonotonicInstant.now - self) / .seconds(1) }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
