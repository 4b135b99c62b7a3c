package import CarillonIO

/// Loops for tests.
package enum TestLoop {
    /// For what all tests of a process share, such as their PostgreSQL.
    package static let shared: EventLoop = {
        do {
            return try EventLoop(name: "tests")
        } catch {
            fatalError("the tests' loop cannot start: \(error)")
        }
    }()

    /// Starts a loop, runs the body, then stops and joins the loop.
    package static func with<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
        try await EventLoop.with(name: "test", body)
    }
}
