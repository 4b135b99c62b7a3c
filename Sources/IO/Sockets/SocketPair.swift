/// Two local sockets connected with each other.
package struct SocketPair: ~Copyable, Sendable {
    package let first: Socket
    package let second: Socket

    /// - Parameter isBlocking: for an end that goes to a child process, which expects to be able to wait in a read.
    package init(isBlocking: Bool = false) throws(IOError) {
        var descriptors: [CInt] = [-1, -1]
        _ = try SystemCall.check("making a pair of sockets") {
            SocketCalls.makePair(isBlocking: isBlocking, &descriptors)
        }
        first = Socket(owning: descriptors[0])
        second = Socket(owning: descriptors[1])
    }

    /// Gives up both descriptors without closing them.
    package consuming func release() -> (CInt, CInt) { (first.release(), second.release()) }
}
