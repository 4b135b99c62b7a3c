#if canImport(Darwin)
    import CarillonPOSIX

    /// Socket calls that differ on Darwin. It has no flags for a new socket, so a child process started on another thread at that
    /// moment inherits the socket.
    enum SocketCalls {
        static let streamType = SOCK_STREAM
        /// Each socket has `SO_NOSIGPIPE` instead.
        static let sendFlags: CInt = 0

        static func make(family: CInt) -> CInt { prepared(socket(family, streamType, 0)) }

        static func makePair(isBlocking: Bool, _ descriptors: inout [CInt]) -> CInt {
            guard socketpair(AF_UNIX, streamType, 0, &descriptors) == 0 else { return -1 }
            for descriptor in descriptors where !prepare(descriptor, isBlocking: isBlocking) {
                let number = errno
                for descriptor in descriptors { close(descriptor) }
                errno = number
                return -1
            }
            return 0
        }

        static func accept(on listener: CInt) -> CInt { prepared(CarillonPOSIX.accept(listener, nil, nil)) }

        /// Applies only to unacknowledged data: Darwin waits without limit for a peer that has no room.
        static func giveUp(_ socket: borrowing Socket, unacknowledgedAfter limit: Duration) {
            let seconds = (limit.nanoseconds + 999_999_999) / 1_000_000_000
            socket.set(CInt(IPPROTO_TCP), TCP_RXT_CONNDROPTIME, to: CInt(clamping: seconds))
        }

        static func unacknowledged(on descriptor: CInt) -> Int {
            var count: CInt = 0
            var size = socklen_t(MemoryLayout.size(ofValue: count))
            getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size)
            return Int(count)
        }

        private static func prepared(_ descriptor: CInt) -> CInt {
            guard descriptor >= 0, !prepare(descriptor, isBlocking: false) else { return descriptor }
            let number = errno
            close(descriptor)
            errno = number
            return -1
        }

        private static func prepare(_ descriptor: CInt, isBlocking: Bool) -> Bool {
            guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { return false }
            if !isBlocking, fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0 { return false }
            var yes: CInt = 1
            // EINVAL: the peer has already closed the connection, and the next read reports it.
            return setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<CInt>.size)) == 0
                || errno == EINVAL
        }
    }
#endif
