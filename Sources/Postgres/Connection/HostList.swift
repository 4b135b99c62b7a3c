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

    /// The first host with this name or address, and this port.
    func index(of server: ServerAddress) -> Int? {
        (0..<count).first { index in
            (hosts.indices.contains(index) && hosts[index] == server.host
                || addresses.indices.contains(index) && addresses[index] == server.host)
                && (port(index).map { $0 == server.port || $0.isEmpty } ?? true)
        }
    }

    /// The hosts after that one; nil if there are none.
    func after(_ server: ServerAddress) -> HostList? {
        guard let index = index(of: server), index + 1 < count else { return nil }
        return picking(Array(index + 1..<count))
    }

    /// The same hosts, that one last; nil if it is not among them.
    func withLast(_ server: ServerAddress) -> HostList? {
        index(of: server).map { last in picking((0..<count).filter { $0 != last } + [last]) }
    }

    func picking(_ indices: [Int]) -> HostList {
        // libpq refuses lists of different lengths.
        func pick(_ list: [String]) -> [String] { indices.filter(list.indices.contains).map { list[$0] } }
        // A single port applies to all hosts.
        return HostList(hosts: pick(hosts), addresses: pick(addresses), ports: ports.count > 1 ? pick(ports) : ports)
    }

    private func port(_ index: Int) -> String? {
        ports.count > 1 ? (ports.indices.contains(index) ? ports[index] : nil) : ports.first
    }

    /// Keywords for libpq, to follow those of the string.
    var keywords: [(keyword: String, value: String)] {
        [("host", hosts), ("hostaddr", addresses), ("port", ports)]
            .filter { !$0.1.isEmpty }.map { ($0.0, $0.1.joined(separator: ",")) }
    }
}
