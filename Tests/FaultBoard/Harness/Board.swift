import Glibc
import Testing

/// How the board runs: in short by `make test`, in full by `make faults`.
enum Board {
    static let isFull = Self.variable("FAULTS") == "full"

    /// How long a soak goes on; nil: there is none.
    static let soak = Self.variable("SOAK").flatMap { Int($0) }.map { Duration.seconds($0) }

    /// The seed of all random numbers. It is printed, and can be set by `FAULT_SEED`.
    static let seed: UInt64 = {
        let seed = Self.variable("FAULT_SEED").flatMap { UInt64($0) } ?? .random(in: 1...999_999_999)
        print("fault board: FAULT_SEED=\(seed)")
        return seed
    }()

    /// The value for short runs, or that for full ones.
    static func sized<Value>(_ short: Value, full: Value) -> Value { isFull ? full : short }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

extension Trait where Self == ConditionTrait {
    /// For cases of several minutes without a short form.
    static var long: Self { .enabled(if: Board.isFull, "takes minutes: make faults runs it") }

    /// For cases of any length.
    static var soak: Self { .enabled(if: Board.soak != nil, "goes on for long: make soak runs it") }
}
