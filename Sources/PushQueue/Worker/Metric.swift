/// A metric that a worker keeps as a property, with its name and its help beside it. The page finds them there.
@propertyWrapper
package struct Metric<Value: Sendable>: Sendable {
    package let name: String
    package let help: String
    package var wrappedValue: Value

    package init(wrappedValue: Value, _ name: String, _ help: String) {
        self.wrappedValue = wrappedValue
        self.name = name
        self.help = help
    }
}
