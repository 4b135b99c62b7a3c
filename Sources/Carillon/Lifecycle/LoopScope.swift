import CarillonIO

/// An event loop for the duration of a command.
enum LoopScope {
    static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: "command")
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }
}
