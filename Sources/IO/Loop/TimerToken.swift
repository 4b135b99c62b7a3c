/// Identifies a timer, so that it can be cancelled. Cancelling one that has fired does nothing.
package struct TimerToken: Hashable, Sendable {
    let slot: Slot
}
