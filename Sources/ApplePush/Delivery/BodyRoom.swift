/// How many bodies a connection has room for. Others wait in the queue, where another connection can take them.
struct BodyRoom {
    /// How many bytes more the peer accepts. A wire without windows has `unlimited` room.
    let window: Int
    /// Bytes of bodies that already wait for the window.
    let waiting: Int

    static let unlimited = Self(window: .max, waiting: 0)

    /// How many bodies of that size fit. One may be sent in part if none waits, because some peers open their window only when
    /// all of it is used.
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
