package import IO

/// Loops for tests.
package enum TestLoop {
    /// The one that what is shared by all tests of a process runs on, such as their PostgreSQL.
    package static let shared: EventLoop = {
        do {
            return try EventLoop(name: "tests")
        } catch {
            fatalError("the tests' loop cannot start: \(error)")
        }
    }()

    /// A loop around a test: started before, stopped and joined after.
    package static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: "test")
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }
}
