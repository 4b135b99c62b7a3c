/// What a descriptor is watched for, and what it is ready for. Errors and hang-ups are reported as both, whatever the interest is:
/// the next read or write returns the error. With an empty interest, only epoll reports them.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}
