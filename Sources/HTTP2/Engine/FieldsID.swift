/// Identifies a header block that requests of a session share.
package struct FieldsID: Hashable, Sendable {
    let key: SharedMemory.Key
}
