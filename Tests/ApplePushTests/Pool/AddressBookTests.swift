import CarillonIO
import Testing

@testable import ApplePush

@Suite struct AddressBookTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let addresses = ["a", "b", "c", "d"]

    @Test func `addresses stay in order if none has failed`() {
        #expect(AddressBook<String>().ordered(addresses, at: start) == addresses)
    }

    @Test func `failed addresses come last, the latest failure last of all`() {
        var book = AddressBook<String>()
        book.failed([addresses[1]], at: start)
        book.failed([addresses[0]], at: start + .seconds(1))
        let order = [2, 3, 1, 0].map { addresses[$0] }
        #expect(book.ordered(addresses, at: start + .seconds(2)) == order)
        book.failed([addresses[1]], at: start + .seconds(3))
        #expect(book.ordered(addresses, at: start + .seconds(4)).last == addresses[1])
    }

    @Test func `failures expire, at once if the address works again`() {
        var book = AddressBook<String>()
        book.failed(addresses[..<2], at: start)
        book.worked(addresses[0])
        let order = [0, 2, 3, 1].map { addresses[$0] }
        #expect(book.ordered(addresses, at: start + .seconds(599)) == order)
        #expect(book.ordered(addresses, at: start + .seconds(600)) == addresses)
    }

    @Test func `however many addresses fail, few are remembered`() {
        var book = AddressBook<String>()
        let many = (1...100).map { "host \($0)" }
        book.failed(many, at: start)
        #expect(book.ordered(many, at: start).first == many[0])
        #expect(book.ordered(many, at: start).suffix(32) == many.suffix(32))
    }
}
