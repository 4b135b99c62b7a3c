import CarillonIO

/// Remembers which of a server's addresses failed recently, so that they are tried last. Names are resolved for each connection,
/// but a name server does not know which machine is down.
struct AddressBook: Sendable {
    private static let memory = Duration.seconds(600)
    private static let room = 32

    private struct FailedAddress {
        let address: SocketAddress
        let forgotten: MonotonicInstant
    }

    private var failures: [FailedAddress] = []

    mutating func failed(_ addresses: [SocketAddress], at now: MonotonicInstant) {
        for address in addresses {
            worked(address)
            failures.append(FailedAddress(address: address, forgotten: now + Self.memory))
        }
        if failures.count > Self.room { failures.removeFirst(failures.count - Self.room) }
    }

    mutating func worked(_ address: SocketAddress) { failures.removeAll { $0.address == address } }

    /// The same addresses in the same order, except that those that failed recently come last, the latest failure last.
    func ordered(_ addresses: [SocketAddress], at now: MonotonicInstant) -> [SocketAddress] {
        let failed = failures.filter { $0.forgotten > now && addresses.contains($0.address) }.map(\.address)
        return addresses.filter { !failed.contains($0) } + failed
    }
}
