import CarillonText
import CarillonWeb
import Glibc

/// A proxy that authenticates its users and names each one in a header.
package struct ProxyTrust: Sendable {
    /// Stands for every user.
    static let anybody = "*"

    static let clientHeader = "X-Forwarded-For"
    private static let schemeHeader = "X-Forwarded-Proto"

    /// The addresses that the proxy's requests come from.
    let addresses: Set<String>
    let header: String
    /// The users who may change something.
    let operators: Set<String>
    /// The host names that the proxy's clients use. A page that reached the machine under another name could forge the header. If
    /// empty, which is for a proxy on another machine, every name is accepted.
    let hosts: Set<String>

    package init(addresses: Set<String>, header: String, operators: Set<String>, hosts: Set<String> = []) {
        self.addresses = addresses
        self.header = header
        self.operators = operators
        self.hosts = hosts
    }

    /// A numeric address, written as the server writes the address of a client; nil if the text is not an address.
    package static func address(_ text: String) -> String? {
        var bytes = in6_addr()
        var written = [CChar](repeating: 0, count: 64)
        guard let family = [AF_INET, AF_INET6].first(where: { inet_pton($0, text, &bytes) == 1 }),
            inet_ntop(family, &bytes, &written, socklen_t(written.count)) != nil
        else { return nil }
        let address = String(decoding: written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // An IPv4 address of an IPv6 socket is written as IPv4.
        let mapped = "::ffff:"
        return address.hasPrefix(mapped) && address.contains(".") ? String(address.dropFirst(mapped.count)) : address
    }

    func isProxy(_ request: Request) -> Bool { request.peer.map(addresses.contains) ?? false }

    /// The address of the client for which the proxy asks; nil if it names none. Each proxy adds its own client at the end, of the
    /// header or as another one. What stands before the last address that is not a trusted proxy's, that client wrote.
    func client(of request: Request) -> String? {
        let name = Self.clientHeader.lowercased()
        let hops = request.headers.filter { $0.name.lowercased() == name }
            .flatMap { $0.value.split(separator: ",", omittingEmptySubsequences: false) }
            .map { Self.address(String($0).trimmed) }
        return hops.last { $0.map { !addresses.contains($0) } ?? true } ?? nil
    }

    /// Whether the proxy says that its client uses TLS. Of two headers, the client may have written one.
    func isOverTLS(_ request: Request) -> Bool {
        isProxy(request) && !request.hasSeveral(Self.schemeHeader)
            && request.header(Self.schemeHeader)?.lowercased() == "https"
    }

    func isAddressed(_ host: String?) -> Bool {
        hosts.isEmpty || host.map { hosts.contains(HostName.of($0)) } ?? false
    }

    /// Whether a page of the dashboard sent the request. Some proxies drop the port from the name that they pass on, so the port is
    /// not compared if the names are known.
    func isOwn(_ origin: String, of request: Request) -> Bool {
        guard hosts.isEmpty else { return HostName.of(origin: origin).map(hosts.contains) ?? false }
        return ["Host", "X-Forwarded-Host"].contains { HostName.isOrigin(origin, of: request.header($0)) }
    }

    /// The user that the proxy names; nil if it names none. A proxy that adds its header to one sent by the client leaves two, so
    /// if there are two, neither is trusted.
    func user(of request: Request) -> String? {
        guard !request.hasSeveral(header), let name = request.header(header), !name.isEmpty, name.utf8.count <= 255
        else {
            return nil
        }
        return name
    }

    func mayChange(_ user: String) -> Bool { operators.contains(user) || operators.contains(Self.anybody) }
}
