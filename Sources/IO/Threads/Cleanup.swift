/// Code that runs at the end of a scope, however the scope ends.
package enum Cleanup {
    /// Runs the body and then the end, whether the body returns, throws or is cancelled.
    package static func after<R>(
        _ end: @escaping @Sendable () async -> Void,
        _ body: () async throws -> R
    ) async throws -> R {
        let result: Swift::Result<R, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        // In a task of its own, because a cancelled task could not wait.
        await Task { await end() }.value
        return try result.get()
    }
}
