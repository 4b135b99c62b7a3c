import CarillonIO
import Glibc

/// A socket filter that drops every packet to the socket before TCP sees it. The peer gets neither an acknowledgement nor
/// a reset, as from a machine without power.
enum BlackHole {
    static func open(for socket: CInt) throws(IOError) {
        if !attach(to: socket), errno != EPERM { throw IOError(errno: errno, doing: "opening a black hole") }
    }

    /// Whether this user may drop packets. Otherwise the connections hang too, but the kernel acknowledges what comes.
    static let dropsPackets: Bool = {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(probe) }
        return Self.attach(to: probe)
    }()

    private static func attach(to socket: CInt) -> Bool {
        // One BPF instruction: return 0, the number of bytes to keep of a packet.
        var instruction: UInt64 = 0x06
        return withUnsafePointer(to: &instruction) { pointer in
            var program = Program(length: 1, instructions: pointer)
            return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, socklen_t(MemoryLayout<Program>.size))
                == 0
        }
    }

    static func close(for socket: CInt) {
        var nothing: CInt = 0
        setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &nothing, socklen_t(MemoryLayout<CInt>.size))
    }

    /// `struct sock_fprog`.
    private struct Program {
        var length: UInt16
        var instructions: UnsafePointer<UInt64>
    }
}
