import CarillonCLinux

/// Ends the wait of a poller, from any thread, as long as the poller exists.
struct PollerWaker: Sendable {
    let descriptor: CInt

    /// Any number of calls before the next wait end only that wait.
    func wake() { eventfd_write(descriptor, 1) }
}
