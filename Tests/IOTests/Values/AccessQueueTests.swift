import Testing

@testable import CarillonIO

@Suite struct AccessQueueTests {
    @Test func `a few have access, and the others get it in the order of their arrival`() {
        var queue = AccessQueue<Int>(places: 2)
        let begun = (1...5).filter { queue.join($0) }
        #expect(begun == [1, 2])
        let next = [queue.leave(), queue.leave()]
        #expect(next == [3, 4])
        let dismissed = queue.dismiss()
        #expect(dismissed == [5])
        let last = [queue.leave(), queue.leave()]
        #expect(last == [nil, nil])
        let again = queue.join(6)
        #expect(again)
    }
}
