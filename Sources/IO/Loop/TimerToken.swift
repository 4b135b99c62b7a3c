/// Names a timer, to cancel it. Cancelling one that has fired does nothing.
package struct TimerToken: Hashable, Sendable {
    let slot: Slot
}
