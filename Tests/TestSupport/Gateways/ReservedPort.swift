import CarillonIO

/// Ports for those who cannot say which one the system has given them, or who listen on theirs again after a pause.
package enum ReservedPort {
    /// A free port of 127.0.0.1 that nobody takes by chance: the system gives higher ones to sockets that name none.
    package static func choose() -> UInt16 {
        while true {
            let candidate = UInt16.random(in: 10_000..<32_000)
            if let port = try? ListeningSocket(host: "127.0.0.1", port: candidate).port { return port }
        }
    }
}
