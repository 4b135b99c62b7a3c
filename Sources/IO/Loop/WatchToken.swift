/// Names a watch, to change or cancel it.
package struct WatchToken: Hashable, Sendable {
    let slot: Slot
}
