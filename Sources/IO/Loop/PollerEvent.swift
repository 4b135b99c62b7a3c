/// A watched descriptor that is ready, by the slot that it was added as.
struct PollerEvent {
    let slot: Slot
    let ready: Interest
}
