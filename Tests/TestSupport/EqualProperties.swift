/// The names of the properties that are the same in both values. With it, a test of what is written property by property fails by
/// the name of one that was forgotten.
package func equalProperties<Value>(_ one: Value, _ other: Value) -> [String] {
    properties(one, other) { $0 == $1 }
}

/// The names of the other properties.
package func unequalProperties<Value>(_ one: Value, _ other: Value) -> [String] {
    properties(one, other) { $0 != $1 }
}

private func properties<Value>(_ one: Value, _ other: Value, where isWanted: (String, String) -> Bool) -> [String] {
    zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
        .filter { isWanted("\($0.value)", "\($1.value)") }.compactMap(\.0.label)
}
