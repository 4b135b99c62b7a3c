import CarillonIO
import Glibc

/// A file could not be read or written.
struct FileError: Error {
    let path: String
    let reason: String
    /// The error is temporary: the name and the mode of the file are right.
    let isDiskFull: Bool

    init(path: String, reason: String) {
        self.path = path
        self.reason = reason
        isDiskFull = reason == Self.reason(ENOSPC)
    }

    var sentence: String { "Cannot use the file \(path): \(reason)" }

    static func reason(_ code: CInt) -> String {
        switch code {
        case ENOENT: "there is no such file; check the path."
        case EACCES, EPERM: "this user may not open it; check its owner and mode."
        case EISDIR: "it is a folder; name a file."
        case ENXIO: "this pipe has no reader; start its reader first."
        case ENOSPC: "the disk is full."
        default: IOError.text(of: code) + "."
        }
    }
}
