import Glibc

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Sendable, Equatable, CustomStringConvertible {
    private let storage: sockaddr_storage
    private let length: socklen_t

    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { storage in
            storage.copyMemory(from: UnsafeRawBufferPointer(start: address, count: min(Int(length), storage.count)))
        }
        self.storage = storage
        self.length = length
    }

    /// getsockname(2).
    init(boundTo descriptor: CInt) throws(IOError) {
        try self.init { getsockname(descriptor, $0, $1) }
    }

    /// getpeername(2).
    init(connectedTo descriptor: CInt) throws(IOError) {
        try self.init { getpeername(descriptor, $0, $1) }
    }

    private init(_ ask: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt) throws(IOError) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = try SystemCall.check("asking for a socket's address") {
            withUnsafeMutableBytes(of: &storage) { raw in
                ask(raw.assumingMemoryBound(to: sockaddr.self).baseAddress!, &length)
            }
        }
        self.storage = storage
        self.length = length
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
    }

    private func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeBytes(of: storage) { body(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(length)))) }
    }

    var family: CInt { CInt(storage.ss_family) }

    func withPointer<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        withUnsafeBytes(of: storage) { raw in
            body(raw.assumingMemoryBound(to: sockaddr.self).baseAddress!, length)
        }
    }

    /// The numeric address without the port.
    package var host: String { names.host }

    var port: UInt16 { UInt16(names.port) ?? 0 }

    package var description: String {
        let names = self.names
        return family == AF_INET6 ? "[\(names.host)]:\(names.port)" : "\(names.host):\(names.port)"
    }

    private var names: (host: String, port: String) {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let result = withPointer { address, length in
            let flags = CInt(NI_NUMERICHOST | NI_NUMERICSERV)
            return getnameinfo(address, length, &host, socklen_t(host.count), &port, socklen_t(port.count), flags)
        }
        guard result == 0 else { return ("?", "0") }
        return (Self.text(host), Self.text(port))
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
