import CarillonIO

/// Ports for servers that cannot report which one the system gave them, or that listen on it again after a pause.
package enum ReservedPort {
    /// A free port of 127.0.0.1 that no other socket gets by chance: the system gives higher ones to sockets that name none.
    package static func choose() -> UInt16 {
        while true {
            let candidate = UInt16.random(in: 10_000..<32_000)
            if let port = try? ListeningSocket(host: "127.0.0.1", port: candidate).port { return port }
        }
    }
}
