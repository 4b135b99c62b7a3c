/// How many bodies a connection has room for. What does not fit into the send window would be opened as a stream and then
/// wait, here instead of where another connection could take it.
struct BodyRoom {
    /// How many bytes the peer takes beyond those that were sent.
    let window: Int
    /// How many bytes of bodies wait for it already.
    let waiting: Int

    static let unlimited = Self(window: .max, waiting: 0)

    /// How many bodies of that size fit. One may go out in part where none waits: a peer may open its window only when all
    /// of it is used.
    func count(of size: Int) -> Int {
        if self.waiting == 0 {
            if self.window <= 0 { return 0 }
            return size > 0 ? max(1, self.window / size) : .max
        }
        let left = self.window - self.waiting
        if left < 0 { return 0 }
        return size > 0 ? left / size : .max
    }
}
