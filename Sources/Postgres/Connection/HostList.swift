import CarillonCPostgres

/// The hosts that a session may connect to, as libpq found them in the string, the environment and service files.
///
/// Used to try the remaining hosts after one that does not answer. After any other failure libpq tries the next host itself, but
/// its non-blocking functions leave time limits to the caller.
struct HostList {
    private let hosts: [String]
    private let addresses: [String]
    private let ports: [String]

    init(of session: OpaquePointer) {
        let values = ConnectionString.values(in: PQconninfo(session))
        self.init(host: values["host"] ?? "", address: values["hostaddr"] ?? "", port: values["port"] ?? "")
    }

    init(host: String, address: String, port: String) {
        self.init(hosts: Self.list(host), addresses: Self.list(address), ports: Self.list(port))
    }

    private init(hosts: [String], addresses: [String], ports: [String]) {
        self.hosts = hosts
        self.addresses = addresses
        self.ports = ports
    }

    private static func list(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    var count: Int { max(hosts.count, addresses.count) }

    /// The hosts after the first one with this name or address, and this port; nil if there are none.
    func after(host: String, port: String) -> HostList? {
        let place = (0..<count).first { index in
            (hosts.indices.contains(index) && hosts[index] == host
                || addresses.indices.contains(index) && addresses[index] == host)
                && (self.port(index) == port || self.port(index) == nil)
        }
        guard let place, place + 1 < count else { return nil }
        let rest = place + 1
        return HostList(
            hosts: Array(hosts.dropFirst(rest)),
            addresses: Array(addresses.dropFirst(rest)),
            // A single port applies to all hosts.
            ports: ports.count > 1 ? Array(ports.dropFirst(rest)) : ports
        )
    }

    private func port(_ index: Int) -> String? { ports.count > 1 ? ports[index] : ports.first }

    /// Keywords for libpq, to follow those of the string.
    var keywords: [(keyword: String, value: String)] {
        [("host", hosts), ("hostaddr", addresses), ("port", ports)]
            .filter { !$0.1.isEmpty }.map { ($0.0, $0.1.joined(separator: ",")) }
    }
}
