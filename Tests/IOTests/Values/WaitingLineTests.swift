import Testing

@testable import CarillonIO

@Suite struct WaitingLineTests {
    @Test func `a few have access, and the others get it in the order of their arrival`() {
        var line = WaitingLine<Int>(places: 2)
        let begun = (1...5).filter { line.join($0) }
        #expect(begun == [1, 2])
        let next = [line.leave(), line.leave()]
        #expect(next == [3, 4])
        let dismissed = line.dismiss()
        #expect(dismissed == [5])
        let last = [line.leave(), line.leave()]
        #expect(last == [nil, nil])
        let again = line.join(6)
        #expect(again)
    }
}
