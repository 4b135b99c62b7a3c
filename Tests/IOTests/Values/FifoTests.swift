import CarillonIO
import Testing

@Suite struct FifoTests {
    @Test func `a queue gives back what it was given, in order`() {
        var queue = Fifo<Int>()
        var next = 0
        for value in 0..<1_000 {
            queue.append(value)
            if !value.isMultiple(of: 3) {
                #expect(queue.popFirst() == next)
                next += 1
            }
        }
        while let value = queue.popFirst() {
            #expect(value == next)
            next += 1
        }
        #expect(next == 1_000 && queue.isEmpty)
    }
}
