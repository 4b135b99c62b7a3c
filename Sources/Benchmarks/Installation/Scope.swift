import CarillonIO

extension MonotonicInstant {
    /// The seconds since this instant.
    var age: Double { (MonotonicInstant.now - self) / .seconds(1) }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
