import Glibc

/// A stream socket that listens on a port. It is closed with its value.
package struct ListeningSocket: ~Copyable, Sendable {
    private let socket: Socket
    /// The address that it listens on, including the chosen port.
    package let address: SocketAddress

    /// Port 0 chooses a free port. A host name is looked up synchronously, which may block. Of several addresses, IPv4 is
    /// preferred, because most clients take a name such as localhost to mean 127.0.0.1.
    package init(host: String, port: UInt16, backlog: CInt = 1024) throws(IOError) {
        let socket = try Self.listen(onOneOf: Self.addresses(host, port: port), backlog, host)
        address = try SocketAddress(boundTo: socket.descriptor)
        self.socket = socket
    }

    var descriptor: CInt { socket.descriptor }
    package var port: UInt16 { address.port }

    /// Gives up the descriptor without closing it.
    package consuming func release() -> CInt { socket.release() }

    private static func addresses(_ host: String, port: UInt16) throws(IOError) -> [SocketAddress] {
        do {
            let addresses = try Resolver.lookUpNow(host, port: port)
            return addresses.filter { $0.family == AF_INET } + addresses.filter { $0.family != AF_INET }
        } catch {
            throw error.code == .unresolvable ? foreign(host) : error
        }
    }

    private static func listen(
        onOneOf addresses: [SocketAddress],
        _ backlog: CInt,
        _ host: String
    ) throws(IOError) -> Socket {
        var failure: IOError?
        for address in addresses {
            do {
                return try listen(on: address, backlog)
            } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? foreign(host)
    }

    private static func listen(on address: SocketAddress, _ backlog: CInt) throws(IOError) -> Socket {
        let socket = try Socket.unconnected(family: address.family)
        socket.set(SOL_SOCKET, SO_REUSEADDR, to: CInt(1))
        guard address.withPointer({ bind(socket.descriptor, $0, $1) }) == 0,
            Glibc.listen(socket.descriptor, backlog) == 0
        else { throw refusal(errno, address) }
        return socket
    }

    private static func foreign(_ host: String) -> IOError {
        IOError(
            .addressUnavailable,
            "\(host) is not an address of this machine: listen on one that is, such as 127.0.0.1 or 0.0.0.0"
        )
    }

    private static func refusal(_ number: CInt, _ address: SocketAddress) -> IOError {
        let code = IOError.Code(errno: number)
        let sentence: String
        switch code {
        case .addressUnavailable: return foreign(address.host)
        case .addressInUse:
            sentence =
                "port \(address.port) is in use on \(address.host): stop the program that listens there or choose another port"
        case .forbidden:
            sentence =
                "listening on port \(address.port) is not allowed: choose a port above 1023, or run with the right to do so"
        default: sentence = "listening on \(address) failed: \(IOError.text(of: number))"
        }
        return IOError(code, sentence, errno: number)
    }
}
