import CarillonIO

/// Random numbers for each event. In a debug build, the standard library's functions cost more than the event.
extension SeededGenerator {
    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1)
    }

    mutating func milliseconds(in range: ClosedRange<Int>) -> Duration { .milliseconds(number(in: range)) }

    mutating func chance(_ part: Int, outOf whole: Int) -> Bool {
        part > 0 && number(in: 0...whole - 1) < part
    }
}
