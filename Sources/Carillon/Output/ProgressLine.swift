import CarillonIO

/// One line at the bottom of a terminal that is overwritten. On anything else it shows nothing.
final class ProgressLine: Sendable {
    private let stream: TextStream
    private let isShown = Guarded(false)

    init(_ stream: TextStream) { self.stream = stream }

    func show(_ text: String) {
        guard stream.isTerminal else { return }
        isShown.withLock { $0 = true }
        stream.write("\r\u{1B}[2K" + text.prefix(stream.columns - 1))
    }

    /// Clears the line before permanent output.
    func clear() {
        let wasShown = isShown.withLock { isShown in
            defer { isShown = false }
            return isShown
        }
        if wasShown { stream.write("\r\u{1B}[2K") }
    }
}
