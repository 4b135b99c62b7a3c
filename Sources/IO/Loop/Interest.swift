import CarillonCLinux

/// What a descriptor is watched for, and what it is ready for. Errors and hang-ups are reported whatever the interest is,
/// as both: the next read or write returns the error.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)

    /// From epoll.
    init(events: UInt32) {
        var interest: Interest = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { interest.insert(.read) }
        if events & EPOLLOUT.rawValue != 0 { interest.insert(.write) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { interest = [.read, .write] }
        self = interest
    }

    /// For epoll.
    var events: UInt32 {
        (contains(.read) ? EPOLLIN.rawValue : 0) | (contains(.write) ? EPOLLOUT.rawValue : 0)
    }
}
