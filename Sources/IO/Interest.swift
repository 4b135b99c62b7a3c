import CLinux

/// What a descriptor is watched for, and what it turned out to be ready for. Errors and hang-ups are reported whatever
/// the interest is, as both.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

extension Interest {
    /// For the kernel.
    var events: UInt32 {
        var events: UInt32 = 0
        if contains(.read) { events |= EPOLLIN.rawValue }
        if contains(.write) { events |= EPOLLOUT.rawValue }
        return events
    }

    /// From the kernel. An error or a hang-up is reported as both: whoever reads or writes next is told what it is.
    init(events: UInt32) {
        var interest: Interest = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { interest.insert(.read) }
        if events & EPOLLOUT.rawValue != 0 { interest.insert(.write) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { interest = [.read, .write] }
        self = interest
    }
}
