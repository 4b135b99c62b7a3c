/// One step of the schema: two scripts of `migrations/`, which the program contains.
package struct Migration: Sendable, Identifiable, Equatable, CustomStringConvertible {
    package let version: Int
    package let name: String
    /// Migrates from the version before, and records itself.
    package let up: String
    /// Undoes the step and its record.
    package let down: String

    package var id: Int { version }

    /// As its files are named, "0003_queue".
    package var title: String { Self.title(version, name) }

    package var description: String { title }

    init(_ version: Int, _ name: String, up: String, down: String) {
        self.version = version
        self.name = name
        self.up = up
        self.down = down
    }

    static func title(_ version: Int, _ name: String) -> String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_" + name
    }
}
