import CPostgres

/// The hosts that a session may connect to, as libpq has found them in the string, the environment and service files.
///
/// Made to try the others after one that is silent: libpq goes on by itself after every other kind of failure, but
/// leaves time limits to those who do not wait in its own functions.
struct HostList {
    private let hosts: [String]
    private let addresses: [String]
    private let ports: [String]

    init(of session: OpaquePointer) {
        var values: [String: String] = [:]
        if let options = PQconninfo(session) {
            defer { PQconninfoFree(options) }
            var option = options
            while let keyword = option.pointee.keyword {
                if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
                option += 1
            }
        }
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

    var count: Int { max(self.hosts.count, self.addresses.count) }

    /// The hosts behind the first one of that name, or address, and port. Nil: there is none.
    func after(host: String, port: String) -> HostList? {
        let place = (0..<self.count).first { index in
            (self.hosts.indices.contains(index) && self.hosts[index] == host
                || self.addresses.indices.contains(index) && self.addresses[index] == host)
                && (self.port(index) == port || self.port(index) == nil)
        }
        guard let place, place + 1 < self.count else { return nil }
        let rest = place + 1
        return HostList(
            hosts: Array(self.hosts.dropFirst(rest)),
            addresses: Array(self.addresses.dropFirst(rest)),
            // One port goes for all hosts.
            ports: self.ports.count > 1 ? Array(self.ports.dropFirst(rest)) : self.ports
        )
    }

    private func port(_ index: Int) -> String? {
        self.ports.count > 1 ? self.ports[index] : self.ports.first
    }

    /// For libpq, after what the string says.
    var keywords: [(keyword: String, value: String)] {
        [("host", self.hosts), ("hostaddr", self.addresses), ("port", self.ports)]
            .filter { !$0.1.isEmpty }.map { ($0.0, $0.1.joined(separator: ",")) }
    }
}
