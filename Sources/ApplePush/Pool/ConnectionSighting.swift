/// What a pool sees of a connection whenever something has happened to it.
struct ConnectionSighting {
    var phase: ConnectionRoster.Phase
    var room: ConnectionRoster.Room
    /// It has lived for long enough.
    var isOld = false
    var isClosed = false
    /// Why it takes no more pushes, once it does not.
    var end: ConnectionEnd?
    /// How many pushes got an answer that was about them.
    var answered = 0
    /// An answer on it has shown that the gateway accepts the credential.
    var isAccepted = false
    /// The provider token that the gateway called too old.
    var refusedToken: ProviderToken?
}
