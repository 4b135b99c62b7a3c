/// A word of a command to paste into a shell.
enum ShellWord {
    /// The word itself if a shell takes it literally, otherwise in single quotes.
    static func quote(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
