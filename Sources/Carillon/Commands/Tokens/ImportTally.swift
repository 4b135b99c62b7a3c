struct ImportTally: Sendable {
    var bytes = 0
    /// Lines that were a token or were refused.
    var lines = 0
    var refused = 0
    /// Everything up to this line is in the database or refused.
    var line = 0
    /// Tokens that were new.
    var new = 0
    /// Tokens that were known, with another time or owner.
    var changed = 0
    /// Tokens that were known, with nothing new.
    var known = 0
    var isInterrupted = false
    var failure: (any Error)?

    /// Lines whose tokens are in the database.
    var written: Int { new + changed + known }

    mutating func add(_ change: TokenStore.Change, of count: Int, upTo line: Int) {
        new += change.new
        changed += change.changed
        known += count - change.new - change.changed - change.refused.count
        refused += change.refused.count
        self.line = line
    }
}
