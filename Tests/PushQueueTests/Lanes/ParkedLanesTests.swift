import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct ParkedLanesTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// Each has to be freed earlier than the one before, which is the most work.
    @Test func `to park a lane copies none of the others, however many they are`() {
        let lanes = (0..<10_000).map { Lane(app: 1, number: Int16($0)) }
        var parked = ParkedLanes()
        var places: [UInt] = []
        for (index, lane) in lanes.enumerated() {
            parked.park(lane, until: Self.start + .seconds(lanes.count - index))
            let place = parked.apps[1]?.lanes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            if let place, place != places.last { places.append(place) }
        }
        // The list moves only when it is full, and then it has twice the room: some 14 times.
        #expect(places.count < 20)
        let (early, due) = (parked.freeDue(at: Self.start), parked.freeDue(at: Self.start + .seconds(1)))
        #expect(early == nil && due == lanes)
        let late = parked.freeDue(at: Self.start + .seconds(lanes.count))
        #expect(late == nil && parked.apps.isEmpty)
    }

    @Test func `a lane that is parked again is freed once, at the earliest time`() {
        var parked = ParkedLanes()
        let lanes = [Lane(app: 1, number: 3), Lane(app: 1, number: 4)]
        for seconds in [9, 2, 5] {
            for lane in lanes { parked.park(lane, until: Self.start + .seconds(seconds)) }
        }
        parked.park(lanes[0], until: nil)
        let freed = [1, 2, 9].map { parked.freeDue(at: Self.start + .seconds($0)) }
        #expect(freed == [nil, lanes, nil])
    }
}
