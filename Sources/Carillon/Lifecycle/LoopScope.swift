import IO

/// An event loop for the duration of a command.
enum LoopScope {
    static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: "command")
        let result: Result<R, any Error>
        do {
            result = .success(try await body(loop))
        } catch {
            result = .failure(error)
        }
        loop.stop()
        loop.join()
        return try result.get()
    }
}
