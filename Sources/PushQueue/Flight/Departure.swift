/// What to do with a claim that was answered.
enum Departure: Sendable {
    case send(App.Route, mostAttempts: Int16)
    /// All of it has expired or is refused here: it only has to be settled.
    case nothingToSend
    /// It may not be sent any more, and goes back as it was.
    case giveBack
}
