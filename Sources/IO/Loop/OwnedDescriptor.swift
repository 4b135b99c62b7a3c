import Glibc

/// A descriptor that is closed with its value.
struct OwnedDescriptor: ~Copyable {
    let number: CInt

    init(_ doing: @autoclosure () -> String, _ call: () -> CInt) throws(IOError) {
        number = try SystemCall.check(doing(), call)
    }

    deinit { close(number) }
}
