import Glibc

package struct User: Hashable, Sendable {
    package let name: String
    package let id: UInt32
    package let group: UInt32

    /// Nil if the machine has no account with that name.
    package init?(named name: String) {
        self.init { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }

    /// Nil if the machine has no account with that ID.
    package init?(id: UInt32) {
        self.init { entry, buffer, size, found in getpwuid_r(id, entry, buffer, size, found) }
    }

    private typealias Found = UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>

    private init?(_ lookUp: (UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int, Found) -> CInt) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        // The entry's strings point into the buffer.
        let user: (String, UInt32, UInt32)? = buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, lookUp(&entry, base, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return (String(cString: entry.pw_name), entry.pw_uid, entry.pw_gid)
        }
        guard let user else { return nil }
        (name, id, group) = user
    }

    package static var isRoot: Bool { geteuid() == 0 }
}
