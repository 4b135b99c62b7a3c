import PushQueue

/// How far an import has come.
struct ImportTally: Sendable {
    /// What was read of the file.
    var bytes = 0
    /// Lines that came to something, tokens or refusals.
    var lines = 0
    var refused = 0
    /// Up to this line all is in the database or refused.
    var line = 0
    /// Tokens that were not there.
    var new = 0
    /// Tokens that were there, with another time or owner.
    var changed = 0
    /// Lines that told nothing new.
    var known = 0
    /// Somebody asked it to end.
    var isInterrupted = false
    /// What ended it before its time.
    var failure: (any Error)?

    /// Lines whose tokens are in the database.
    var written: Int { new + changed + known }

    mutating func add(_ change: TokenStore.Change, of count: Int, upTo line: Int) {
        new += change.new
        changed += change.changed
        known += count - change.new - change.changed
        self.line = line
    }
}
