/// A connection's room for request bodies. Pushes beyond it wait in the queue, where another connection can take them.
struct BodyRoom {
    /// How many more bytes the peer accepts. A wire without windows has `unlimited` room.
    let window: Int
    /// Bytes of bodies already waiting for the window.
    let waiting: Int

    static let unlimited = Self(window: .max, waiting: 0)

    /// How many bodies of this size fit. If none is waiting, one may be sent in part, because some peers open their window only
    /// once all of it is used.
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
