extension EventLoop {
    /// An event loop for the duration of the body.
    package static func with<R>(name: String, _ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: name)
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }
}
