import Testing

@testable import ApplePush
@testable import CarillonIO

@Suite struct AddressBookTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let addresses: [SocketAddress]

    init() throws { addresses = try Self.addresses(4) }

    private static func addresses(_ count: UInt16) throws -> [SocketAddress] {
        try (1...count).flatMap { try Resolver.lookUpNow("127.0.0.1", port: $0) }
    }

    @Test func `addresses stay in order if none has failed`() {
        #expect(AddressBook().ordered(addresses, at: start) == addresses)
    }

    @Test func `failed addresses come last, the latest failure last of all`() {
        var book = AddressBook()
        book.failed([addresses[1]], at: start)
        book.failed([addresses[0]], at: start + .seconds(1))
        let order = [2, 3, 1, 0].map { addresses[$0] }
        #expect(book.ordered(addresses, at: start + .seconds(2)) == order)
        book.failed([addresses[1]], at: start + .seconds(3))
        #expect(book.ordered(addresses, at: start + .seconds(4)).last == addresses[1])
    }

    @Test func `failures expire, at once if the address works again`() {
        var book = AddressBook()
        book.failed([addresses[0], addresses[1]], at: start)
        book.worked(addresses[0])
        let order = [0, 2, 3, 1].map { addresses[$0] }
        #expect(book.ordered(addresses, at: start + .seconds(599)) == order)
        #expect(book.ordered(addresses, at: start + .seconds(600)) == addresses)
    }

    @Test func `however many addresses fail, few are remembered`() throws {
        var book = AddressBook()
        let many = try Self.addresses(100)
        book.failed(many, at: start)
        #expect(book.ordered(many, at: start).first == many[0])
        #expect(book.ordered(many, at: start).suffix(32) == many.suffix(32))
    }
}
