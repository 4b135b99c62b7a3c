package import ApplePush

/// A metric that a worker keeps as a property, with its name and its help beside it. The page finds them there.
@propertyWrapper
package struct Metric<Value: Sendable>: Sendable {
    package let name: String
    package let help: String
    package var wrappedValue: Value

    private init(_ value: Value, _ name: String, _ help: String) {
        wrappedValue = value
        self.name = name
        self.help = help
    }
}

// The values that the page of metrics can write. Another one does not compile.
extension Metric<Int> {
    package init(wrappedValue: Int, _ name: String, _ help: String) { self.init(wrappedValue, name, help) }
}

extension Metric<[String: Int]> {
    package init(wrappedValue: [String: Int], _ name: String, _ help: String) { self.init(wrappedValue, name, help) }
}

extension Metric<DurationHistogram> {
    package init(wrappedValue: DurationHistogram, _ name: String, _ help: String) {
        self.init(wrappedValue, name, help)
    }
}
