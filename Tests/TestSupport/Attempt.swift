/// Runs the body, and then the ending, whatever became of the body: what `defer` does where nothing has to be awaited.
package func attempt<R>(
    _ body: () async throws -> R,
    finally ending: () async throws -> Void
) async throws -> R {
    let result: R
    do {
        result = try await body()
    } catch {
        // What went wrong first is what a test has to tell of.
        try? await ending()
        throw error
    }
    try await ending()
    return result
}
