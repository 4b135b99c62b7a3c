import Glibc

/// An account of this machine.
package struct User: Hashable, Sendable {
    package let name: String
    package let id: UInt32
    package let group: UInt32

    /// Looked up in the machine's accounts; nil when there is none of that name.
    package init?(named name: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        self.name = name
        self.id = entry.pw_uid
        self.group = entry.pw_gid
    }

    package static var isRoot: Bool { geteuid() == 0 }
}
