import CLinux
import Glibc

/// What a terminal says of itself.
package enum Terminal {
    /// How many letters fit on a line; nil where the descriptor is no terminal, or one that does not tell.
    package static func columns(of descriptor: CInt) -> Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }
}
