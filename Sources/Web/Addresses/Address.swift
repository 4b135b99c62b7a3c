/// A host and a port, as `host:port`, `[::1]:port`, `:port` (every interface) or a port alone (this machine only).
package struct Address: Sendable, Equatable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init?(_ text: String) {
        if let port = UInt16(text) {
            self.init(host: "127.0.0.1", port: port)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil  // an IPv6 address without brackets is ambiguous
        }
        guard host.allSatisfy({ !$0.isWhitespace && $0 != "/" && $0 != "@" }) else { return nil }
        self.init(host: host.isEmpty ? "0.0.0.0" : String(host), port: port)
    }

    /// Whether a server that listens on the host can be reached only from this machine.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.wholeMatch(of: /127\.\d{1,3}\.\d{1,3}\.\d{1,3}/) != nil
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
