import IO

/// When to say that pushes are tried again: at once the first time, and then once a minute for each app and cause, with
/// how many it was meanwhile.
struct RetryNews: Sendable {
    private struct Key: Hashable {
        let app: Int32
        let cause: RetryCause
    }

    private struct Entry {
        var toldAt: MonotonicInstant
        var untold = 0
    }

    static let pause = Duration.seconds(60)
    /// A gateway may make up reasons without end; more than so many are not told apart in time.
    private static let most = 256

    private var entries: [Key: Entry] = [:]

    /// So many pushes of the app are tried again. How many to tell of; nil: it was told a short while ago.
    mutating func add(_ pushes: Int, of app: Int32, for cause: RetryCause, at now: MonotonicInstant) -> Int? {
        let key = Key(app: app, cause: cause)
        if var entry = entries[key] {
            entry.untold += pushes
            guard now - entry.toldAt >= Self.pause else {
                entries[key] = entry
                return nil
            }
            entries[key] = Entry(toldAt: now)
            return entry.untold
        }
        if entries.count >= Self.most {
            entries = entries.filter { now - $0.value.toldAt < Self.pause }
            guard entries.count < Self.most else { return nil }
        }
        entries[key] = Entry(toldAt: now)
        return pushes
    }
}
