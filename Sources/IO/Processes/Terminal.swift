import Glibc

package enum Terminal {
    /// The width of a line; nil if the descriptor is not a terminal or the terminal does not report its width.
    package static func columns(of descriptor: CInt) -> Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }
}
