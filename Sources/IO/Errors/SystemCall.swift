import Glibc

/// The kernel's error convention in one place: -1 means that `errno` holds the error, and an interrupted call is repeated.
enum SystemCall {
    static func check(_ doing: @autoclosure () -> String, _ call: () -> CInt) throws(IOError) -> CInt {
        while true {
            let result = call()
            if result >= 0 { return result }
            let number = errno
            if number != EINTR { throw IOError(errno: number, doing: doing()) }
        }
    }
}
