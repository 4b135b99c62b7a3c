/// A watched descriptor that is ready, named by the slot under which it was added.
struct PollerEvent {
    let slot: Slot
    let ready: Interest
}
