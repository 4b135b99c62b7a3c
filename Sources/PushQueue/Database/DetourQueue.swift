import CarillonIO

/// Access for one waiter at a time. Apps are served in rotation, and the waiters of an app in order of arrival.
struct DetourQueue<Waiter> {
    private var waiting: [Int32: Fifo<Waiter>] = [:]
    /// The apps that wait, the next first.
    private var queue = Fifo<Int32>()
    private(set) var isTaken = false

    /// Returns whether the caller has access and need not wait.
    mutating func take() -> Bool {
        guard !isTaken else { return false }
        isTaken = true
        return true
    }

    mutating func wait(_ waiter: Waiter, of app: Int32) {
        if waiting[app] == nil { queue.append(app) }
        waiting[app, default: Fifo()].append(waiter)
    }

    /// The holder is done. Returns the next holder.
    mutating func pass() -> Waiter? {
        guard let app = queue.popFirst(), let next = waiting[app]?.popFirst() else {
            isTaken = false
            return nil
        }
        if waiting[app]?.isEmpty == true { waiting[app] = nil } else { queue.append(app) }
        return next
    }
}
