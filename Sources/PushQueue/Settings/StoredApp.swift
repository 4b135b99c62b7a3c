/// An app in the database.
@dynamicMemberLookup
package struct StoredApp: Sendable, Equatable, Identifiable {
    package let id: Int32
    package let settings: NewApp
    package let maxAttempts: Int32
    package let isPaused: Bool
    /// Why it is paused, if known.
    package let pauseReason: String?
    /// Microseconds since 1970.
    package let createdAt: Int64
    package let updatedAt: Int64

    package subscript<Value>(dynamicMember setting: KeyPath<NewApp, Value>) -> Value { settings[keyPath: setting] }
}
