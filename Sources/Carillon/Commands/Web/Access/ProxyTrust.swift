import CarillonWeb

/// A proxy that knows who its users are, and names each in a header.
struct ProxyTrust: Sendable {
    /// Everybody.
    static let anybody = "*"

    /// The addresses that requests of the proxy come from.
    let addresses: Set<String>
    let header: String
    /// The users that may change something.
    let operators: Set<String>

    func isProxy(_ request: Request) -> Bool { request.peer.map(addresses.contains) ?? false }

    /// Nil: the proxy names nobody. A proxy that adds its header to one of the client leaves both, so of two neither is believed.
    func user(of request: Request) -> String? {
        let wanted = header.lowercased()
        let names = request.headers.filter { $0.name.lowercased() == wanted }
        guard names.count == 1, let name = names.first?.value, !name.isEmpty, name.utf8.count <= 255 else { return nil }
        return name
    }

    func mayChange(_ user: String) -> Bool { operators.contains(user) || operators.contains(Self.anybody) }
}
