import Glibc

/// A socket that listens. libmicrohttpd could open one itself, but could not say what is wrong when it cannot.
struct ListeningSocket: ~Copyable {
    let descriptor: CInt
    let port: UInt16

    init(host: String, port: UInt16) throws(WebError) {
        var failure: WebError?
        for address in try Self.addresses(host, port) {
            do throws(WebError) {
                (self.descriptor, self.port) = try Self.listen(on: address, host, port)
                return
            } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? WebError(code: .addressUnavailable, message: "\(host) has no address to listen on.")
    }

    /// One that is to be closed.
    init(owning descriptor: CInt) {
        self.descriptor = descriptor
        self.port = 0
    }

    deinit {
        close(self.descriptor)
    }

    consuming func release() -> CInt {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }

    private struct Address {
        let family: CInt
        let bytes: [UInt8]
    }

    private static func addresses(_ host: String, _ port: UInt16) throws(WebError) -> [Address] {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        defer { if list != nil { freeaddrinfo(list) } }
        guard result == 0 else {
            throw WebError(
                code: .addressUnavailable,
                message: "\(host) is no address to listen on: give one of this machine's, such as 127.0.0.1 or 0.0.0.0."
            )
        }
        var addresses: [Address] = []
        var next = list
        while let entry = next {
            let bytes = UnsafeRawBufferPointer(start: entry.pointee.ai_addr, count: Int(entry.pointee.ai_addrlen))
            addresses.append(Address(family: entry.pointee.ai_family, bytes: Array(bytes)))
            next = entry.pointee.ai_next
        }
        // A name such as localhost means 127.0.0.1 to most clients.
        return addresses.filter { $0.family == AF_INET } + addresses.filter { $0.family != AF_INET }
    }

    private static func listen(on address: Address, _ host: String, _ port: UInt16) throws(WebError) -> (CInt, UInt16) {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw Self.error(errno, host, port) }
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        let isBound = address.bytes.withUnsafeBytes { bytes in
            bind(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count)) == 0
        }
        guard isBound, Glibc.listen(descriptor, 128) == 0 else {
            let error = Self.error(errno, host, port)
            close(descriptor)
            throw error
        }
        return (descriptor, Self.port(of: descriptor))
    }

    private static func port(of descriptor: CInt) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                getsockname(descriptor, address, &size) == 0
            else { return 0 }
            // Of both families the port is the two bytes after the family's.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    private static func error(_ number: CInt, _ host: String, _ port: UInt16) -> WebError {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        return switch number {
        case EADDRINUSE:
            WebError(
                code: .addressInUse,
                message:
                    "Port \(port) is taken by another program: stop that one, or listen on another port than \(place)."
            )
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            WebError(
                code: .addressUnavailable,
                message:
                    "\(host) is not an address of this machine: listen on one of its own, such as 127.0.0.1 or 0.0.0.0."
            )
        case EACCES, EPERM:
            WebError(
                code: .forbidden,
                message: "This user may not listen on \(place): ports below 1024 belong to root, so take a higher one."
            )
        default:
            WebError(code: .system, message: "Listening on \(place) failed: \(String(cString: strerror(number))).")
        }
    }
}
