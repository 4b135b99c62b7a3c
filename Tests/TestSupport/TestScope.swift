package import Testing

/// Sets up a value around each test, and around each case of a parameterized one. A thread of its own and a callback of
/// an event loop do not see the value: a capture list gives it to them, as in `{ [database] in`.
package struct TestScope<Value: Sendable>: TestTrait, SuiteTrait, TestScoping {
    package typealias SetUp = @Sendable (_ body: (Value) async throws -> Void) async throws -> Void

    package let isRecursive = true
    private let current: TaskLocal<Value?>
    private let setUp: SetUp

    package init(_ current: TaskLocal<Value?>, _ setUp: @escaping SetUp) {
        self.current = current
        self.setUp = setUp
    }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await setUp { value in
            try await current.withValue(value) { try await body() }
        }
    }

    /// The value of the running test.
    package static func value(of current: TaskLocal<Value?>) -> Value {
        if let value = current.get() { return value }
        fatalError("the running test has no trait that sets up a \(Value.self)")
    }
}
