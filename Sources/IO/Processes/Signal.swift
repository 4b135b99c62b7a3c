import CarillonCLinux
import Glibc

package struct Signal: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    package static let terminate = Signal(rawValue: SIGTERM)
    package static let interrupt = Signal(rawValue: SIGINT)
    package static let hangUp = Signal(rawValue: SIGHUP)
    package static let quit = Signal(rawValue: SIGQUIT)
    package static let user1 = Signal(rawValue: SIGUSR1)
    package static let user2 = Signal(rawValue: SIGUSR2)

    package var isIgnored: Bool { clinux_ignores(rawValue) }

    package var description: String {
        switch self {
        case .terminate: "SIGTERM"
        case .interrupt: "SIGINT"
        case .hangUp: "SIGHUP"
        case .quit: "SIGQUIT"
        case .user1: "SIGUSR1"
        case .user2: "SIGUSR2"
        default: "signal \(rawValue)"
        }
    }
}
