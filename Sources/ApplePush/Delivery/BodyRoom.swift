/// How many bodies a connection has room for. A body that the peer has no room for yet would wait on this connection,
/// instead of in the queue where another connection could take it.
struct BodyRoom {
    /// How many bytes the peer takes beyond those that were sent. A wire without windows has `unlimited` room.
    let window: Int
    /// How many bytes of bodies wait for it already.
    let waiting: Int

    static let unlimited = Self(window: .max, waiting: 0)

    /// How many bodies of that size fit. One may go out in part where none waits: a peer may open its window only when all
    /// of it is used.
    func count(of size: Int) -> Int {
        if waiting == 0 {
            if window <= 0 { return 0 }
            return size > 0 ? max(1, window / size) : .max
        }
        let left = window - waiting
        if left < 0 { return 0 }
        return size > 0 ? left / size : .max
    }
}
