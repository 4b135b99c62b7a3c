/// Identifies a body that requests of a session share.
package struct BodyID: Hashable, Sendable {
    let key: SharedMemory.Key
}
