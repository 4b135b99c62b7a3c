import Glibc
import IO

/// A hole in the network, made with a socket filter: the kernel drops every packet that comes to the socket before TCP
/// sees it. So the peer gets no acknowledgement and no reset, as from a machine that lost its power.
enum BlackHole {
    static func open(for socket: CInt) throws(IOError) {
        if !attach(to: socket), errno != EPERM { throw IOError(errno: errno, doing: "opening a black hole") }
    }

    /// Whether this user may drop packets. Where only the administrator may, whoever is in the hole gets nothing through
    /// either, but the kernel goes on acknowledging what comes.
    static let dropsPackets: Bool = {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(probe) }
        return Self.attach(to: probe)
    }()

    private static func attach(to socket: CInt) -> Bool {
        // One instruction of the kernel's packet filter: return 0, which is how much of the packet to keep.
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
