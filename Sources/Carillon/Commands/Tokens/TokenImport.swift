import CarillonIO
import CarillonPushRules

/// Writes the registrations of a file into the database. While one batch is written, the next one is read and sorted; memory never
/// holds more than these two.
struct TokenImport {
    let source: InputFile
    let store: TokenStore
    let app: String
    let loop: EventLoop
    let rejects: RefusedLineFile?
    private var reader: TokenReader
    private var tally = ImportTally()
    private var batch: TokenBatch
    private let now: Int64
    private var writing: Task<Written, any Error>?
    /// Lines that PostgreSQL has refused, and that were not reported yet.
    private var refusals: [RefusedLine] = []
    /// Whether the app had none of the batches so far; nil before the first.
    private var areAllNew: Bool?

    private struct Written: Sendable {
        let change: TokenStore.Change
        let count: Int
        let line: Int
        /// Whether the app had none of the tokens.
        let areNew: Bool
    }

    /// - Parameters:
    ///   - kind: of the tokens whose line names none.
    ///   - now: microseconds since 1970.
    init(
        _ source: InputFile,
        into store: TokenStore,
        app: String,
        on loop: EventLoop,
        rejects: RefusedLineFile?,
        kind: TokenKind?,
        now: Int64
    ) {
        self.source = source
        self.store = store
        self.app = app
        self.loop = loop
        self.rejects = rejects
        self.now = now
        reader = TokenReader(now: now, kind: kind)
        batch = TokenBatch(now: now)
    }

    var otherColumns: [String] { reader.otherColumns }
    var unknownKinds: [TokenKind] { reader.unknownKinds }

    /// Runs until the file ends. When its task is cancelled, it writes what was read, and ends. Calls `report` after
    /// each step, with the lines refused since the last.
    mutating func run(_ report: (ImportTally, [RefusedLine]) -> Void) async -> ImportTally {
        do {
            try await readAll(report)
        } catch {
            tally.failure = error
        }
        do {
            try await finishWriting()
            try tell(report)
        } catch {
            // Later errors are consequences of the first.
            tally.failure = tally.failure ?? error
        }
        return tally
    }

    private mutating func readAll(_ report: (ImportTally, [RefusedLine]) -> Void) async throws {
        var refusals: [RefusedLine] = []
        var isAtEnd = false
        while true {
            let step = try reader.read(into: &batch, upTo: TokenBatch.usualSize, &refusals)
            tally.lines = reader.count
            tally.refused += refusals.count
            try rejects?.write(refusals)
            if !refusals.isEmpty { report(tally, refusals) }
            refusals.removeAll(keepingCapacity: true)
            let isOver = step == .hungry && (isAtEnd || tally.isInterrupted)
            if batch.count >= TokenBatch.usualSize || isOver {
                try await write()
                try tell(report)
            }
            if isOver { return }
            if step == .hungry { isAtEnd = try await readMore() }
        }
    }

    private mutating func tell(_ report: (ImportTally, [RefusedLine]) -> Void) throws {
        try rejects?.write(refusals)
        report(tally, refusals)
        refusals = []
    }

    /// True at the end of the file.
    private mutating func readMore() async throws -> Bool {
        do {
            try Task.checkCancellation()
            let bytes = try await source.read(on: loop)
            tally.bytes += bytes.count
            if bytes.isEmpty { reader.finish() } else { reader.feed(bytes) }
            return bytes.isEmpty
        } catch let error where error is CancellationError || (error as? IOError)?.code == .cancelled {
            tally.isInterrupted = true
            return false
        }
    }

    /// Writes the batch as soon as the one before is written.
    private mutating func write() async throws {
        let (tokens, count, line, store, app) = (SortedTokens(batch), batch.count, reader.line, self.store, self.app)
        batch = TokenBatch(now: now)
        try await finishWriting()
        guard count > 0 else {
            tally.line = line
            return
        }
        // If all tokens so far were new, the next ones probably are too. PostgreSQL logs a refused COPY as an error, so COPY is
        // not tried again after the first token that was already registered.
        let areLikelyNew = areAllNew ?? false
        writing = Task {
            let change = try await store.write(tokens, to: app, areLikelyNew: areLikelyNew)
            return Written(change: change, count: count, line: line, areNew: change.new == tokens.lines.count)
        }
    }

    private mutating func finishWriting() async throws {
        guard let writing else { return }
        self.writing = nil
        let written = try await writing.value
        tally.add(written.change, of: written.count, upTo: written.line)
        refusals += written.change.refused
        areAllNew = written.areNew && areAllNew ?? true
    }
}
