/// Who waits for something that one can have at a time: apps take turns, and within an app it goes by arrival.
struct TurnsByApp<Waiter> {
    private var waiting: [Int32: ArraySlice<Waiter>] = [:]
    /// The apps that wait, the next first.
    private var order: ArraySlice<Int32> = []
    private(set) var isTaken = false

    /// True: it is the caller's now, who need not wait.
    mutating func take() -> Bool {
        guard !isTaken else { return false }
        isTaken = true
        return true
    }

    mutating func wait(_ waiter: Waiter, of app: Int32) {
        if waiting[app] == nil { order.append(app) }
        waiting[app, default: []].append(waiter)
    }

    /// Whoever had it is done. Answers with the next one, whose it is now.
    mutating func pass() -> Waiter? {
        guard let app = order.popFirst(), let next = waiting[app]?.popFirst() else {
            isTaken = false
            return nil
        }
        if waiting[app]?.isEmpty == true { waiting[app] = nil } else { order.append(app) }
        return next
    }
}
