@testable import Carillon

/// All that a reader makes of a text.
struct TokenReaderOutput: Equatable {
    /// 2025-07-01.
    static let now: Int64 = 1_751_328_000_000_000

    var batch = TokenBatch(now: Self.now)
    var lines = 0
    var refusals: [RefusedLine] = []
    var otherColumns: [String] = []
    var error: CSVFileError?

    /// - Parameter size: how many bytes it is given at a time.
    init(_ bytes: [UInt8], by size: (Int) -> Int = { $0 }) {
        var reader = TokenReader(now: Self.now)
        var rest = bytes[...]
        var isFinished = false
        do throws(CSVFileError) {
            while true {
                let step = try reader.read(into: &batch, upTo: .max, &refusals)
                if step == .hungry, isFinished { break }
                guard step == .hungry else { continue }
                isFinished = rest.isEmpty
                let piece = rest.prefix(max(1, size(rest.count)))
                if isFinished { reader.finish() } else { reader.feed(piece) }
                rest = rest.dropFirst(piece.count)
            }
        } catch {
            self.error = error
        }
        lines = reader.count
        otherColumns = reader.otherColumns
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    var count: Int { batch.count }

    /// The lines that were refused.
    var refusedLines: [Int] { refusals.map(\.line) }
}
