/// A table of values found by small tokens, without hashing and without an object for each value.
struct SlotTable<Value> {
    fileprivate struct Place {
        var generation: UInt32 = 0
        var value: Value?
    }

    private var places: [Place] = []
    private var free: [UInt32] = []

    mutating func insert(_ value: Value) -> Slot {
        if let index = free.popLast() {
            places[Int(index)].value = value
            return Slot(index: index, generation: places[Int(index)].generation)
        }
        places.append(Place(value: value))
        return Slot(index: UInt32(places.count - 1), generation: 0)
    }

    @discardableResult
    mutating func remove(_ slot: Slot) -> Value? {
        guard let value = self[slot] else { return nil }
        places[Int(slot.index)].value = nil
        places[Int(slot.index)].generation &+= 1
        free.append(slot.index)
        return value
    }

    subscript(slot: Slot) -> Value? {
        get {
            let index = Int(slot.index)
            guard index < places.count, places[index].generation == slot.generation else { return nil }
            return places[index].value
        }
        set {
            let index = Int(slot.index)
            guard index < places.count, places[index].generation == slot.generation else { return }
            places[index].value = newValue
        }
    }

    /// Keeps the places and their generations, so that earlier tokens stay invalid.
    mutating func removeAll() -> [Value] {
        var values: [Value] = []
        for index in places.indices {
            guard let value = places[index].value.take() else { continue }
            values.append(value)
            places[index].generation &+= 1
            free.append(UInt32(index))
        }
        return values
    }
}

extension SlotTable: Sendable where Value: Sendable {}

extension SlotTable.Place: Sendable where Value: Sendable {}
