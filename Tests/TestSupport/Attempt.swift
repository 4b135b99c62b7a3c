/// Runs the body and then the ending, also when the body throws. Unlike that of `Cleanup.after`, the ending may throw, which fails
/// the test, and runs in the task of the body.
package func attempt<R>(_ body: () async throws -> R, finally ending: () async throws -> Void) async throws -> R {
    let result: R
    do {
        result = try await body()
    } catch {
        // The first error is the one to report.
        try? await ending()
        throw error
    }
    try await ending()
    return result
}
