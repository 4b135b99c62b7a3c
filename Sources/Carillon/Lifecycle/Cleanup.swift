/// What is to be done at the end of something, however it ends.
enum Cleanup {
    /// Runs the body and then the end, whether the body was through, failed or was interrupted.
    static func after<R>(
        _ end: @escaping @Sendable () async -> Void,
        _ body: () async throws -> R
    ) async throws -> R {
        let result: Result<R, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        // A task of its own: that ours was cancelled must not keep it from waiting.
        await Task { await end() }.value
        return try result.get()
    }
}
