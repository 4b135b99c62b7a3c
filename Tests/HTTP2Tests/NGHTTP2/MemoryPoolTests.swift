import CarillonIO
import Testing

@testable import CarillonHTTP2

@Suite struct MemoryPoolTests {
    @Test func `released blocks are allocated again`() {
        var pool = MemoryPool()
        let first = pool.allocate(100)
        pool.release(first)
        let second = pool.allocate(128)
        #expect(first == second, "both need two steps")
        let third = pool.allocate(129)
        #expect(third != second)
        pool.release(second)
        pool.release(third)
        pool.release(nil)
    }

    @Test(arguments: [0, 1, 63, 64, 65, 1_000, 1_024, 1_025, 70_000])
    func `blocks are aligned, apart, and keep what they hold when they grow`(count: Int) {
        var pool = MemoryPool()
        var blocks: [UnsafeMutableRawPointer] = []
        for number in 0..<50 as Range<UInt8> {
            let block = pool.allocate(count)
            block.initializeMemory(as: UInt8.self, repeating: number, count: count)
            blocks.append(block)
        }
        for number in 0..<50 {
            let larger = pool.reallocate(blocks[number], count * 3)
            let bytes = UnsafeRawBufferPointer(start: larger, count: count)
            let isKept = bytes.allSatisfy { $0 == UInt8(number) }
            #expect(isKept && Int(bitPattern: larger) % 16 == 0)
            pool.release(larger)
        }
    }

    @Test func `a thousand sizes in any order do not overlap`() {
        var random = SeededGenerator(seed: 7)
        var pool = MemoryPool()
        var held: [(block: UnsafeMutableRawPointer, count: Int, mark: UInt8)] = []
        for round in 0..<5_000 {
            if held.count > 100 {
                let old = held.remove(at: Int.random(in: 0..<held.count, using: &random))
                let bytes = UnsafeRawBufferPointer(start: old.block, count: old.count)
                let isKept = bytes.allSatisfy { $0 == old.mark }
                #expect(isKept)
                pool.release(old.block)
            }
            let count = Int.random(in: 1..<1_500, using: &random)
            let block = pool.allocate(count)
            let mark = UInt8(truncatingIfNeeded: round)
            block.initializeMemory(as: UInt8.self, repeating: mark, count: count)
            held.append((block, count, mark))
        }
        for item in held { pool.release(item.block) }
    }
}
