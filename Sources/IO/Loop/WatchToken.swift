/// Identifies a watch, so that it can be changed or cancelled.
package struct WatchToken: Hashable, Sendable {
    let slot: Slot
}
