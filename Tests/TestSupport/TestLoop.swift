package import IO

/// A loop around a test: started before, stopped and joined after.
package enum TestLoop {
    package static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: "test")
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }
}
