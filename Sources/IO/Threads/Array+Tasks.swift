extension Array where Element: Sendable {
    /// The results of calls that run concurrently, in the order of the elements.
    package func mapAtOnce<R: Sendable>(_ call: @escaping @Sendable (Element) async -> R) async -> [R] {
        await withTaskGroup(of: (Int, R).self) { group in
            for (index, element) in enumerated() { group.addTask { (index, await call(element)) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
