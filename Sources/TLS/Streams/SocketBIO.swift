import CarillonCOpenSSL
import CarillonIO
import Glibc

/// OpenSSL's own socket BIO, except that writing raises no `SIGPIPE`: a closed connection must not end the program that uses this
/// library, whichever thread calls it.
enum SocketBIO {
    /// The caller keeps the descriptor and owns the result.
    static func make(over descriptor: CInt) -> OpaquePointer? {
        guard let bio = BIO_new(method) else { return nil }
        BIO_int_ctrl(bio, BIO_C_SET_FD, Int(BIO_NOCLOSE), descriptor)
        return bio
    }

    /// Safe, because it is created once, under Swift's lock for static values, and only read afterwards. Nothing may set a function
    /// in it later.
    private nonisolated(unsafe) static let method: OpaquePointer = {
        let socket = BIO_s_socket()
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "socket")
        else { preconditionFailure("out of memory") }
        BIO_meth_set_read(method, BIO_meth_get_read(socket))
        BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(socket))
        BIO_meth_set_create(method, BIO_meth_get_create(socket))
        BIO_meth_set_destroy(method, BIO_meth_get_destroy(socket))
        BIO_meth_set_write(method) { bio, bytes, count in
            var descriptor: CInt = -1
            BIO_ctrl(bio, BIO_C_GET_FD, 0, &descriptor)
            let written = send(descriptor, bytes, Int(count), Socket.sendFlags)
            BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            if written < 0, errno == EAGAIN || errno == EINTR {
                BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            }
            return CInt(truncatingIfNeeded: written)
        }
        return method
    }()
}
