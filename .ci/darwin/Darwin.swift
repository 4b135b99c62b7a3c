// A stand-in for Apple's module Darwin, as far as the library's sources use what Linux has not or has with another type.
// Written after Apple's headers; never run.

@_exported import CDarwin
@_exported import Glibc

public let SOCK_STREAM: CInt = 1
public let RLIMIT_NOFILE: CInt = 8
public let IPPROTO_TCP: CInt = 6
public let TCP_NODELAY: CInt = 1
public let TCP_RXT_CONNDROPTIME: CInt = 0x80
public let SO_NOSIGPIPE: CInt = 0x1022
public let SO_NWRITE: CInt = 0x1024
public let SHUT_RD: CInt = 0
public let SHUT_WR: CInt = 1
public let SHUT_RDWR: CInt = 2
public let PTHREAD_CREATE_DETACHED: CInt = 2
public let NI_NUMERICHOST: CInt = 2
public let NI_NUMERICSERV: CInt = 8

// Only Linux has these.
@available(*, unavailable) public var SOCK_NONBLOCK: CInt { fatalError() }
@available(*, unavailable) public var SOCK_CLOEXEC: CInt { fatalError() }
@available(*, unavailable) public var MSG_NOSIGNAL: CInt { fatalError() }
@available(*, unavailable) public var TCP_USER_TIMEOUT: CInt { fatalError() }
@available(*, unavailable) public func accept4(_: CInt, _: Any?, _: Any?, _: CInt) -> CInt { fatalError() }
@available(*, unavailable) public func epoll_create1(_: CInt) -> CInt { fatalError() }
@available(*, unavailable) public func eventfd(_: CUnsignedInt, _: CInt) -> CInt { fatalError() }

public func getrlimit(_ resource: CInt, _ limit: UnsafeMutablePointer<rlimit>!) -> CInt { fatalError() }

// <pthread.h>: a thread is a pointer.
public struct _opaque_pthread_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public func pthread_self() -> pthread_t! { fatalError() }
public func pthread_equal(_: pthread_t!, _: pthread_t!) -> CInt { fatalError() }
@discardableResult public func pthread_join(_: pthread_t, _: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> CInt { fatalError() }
@discardableResult public func pthread_detach(_: pthread_t) -> CInt { fatalError() }
@discardableResult public func pthread_setname_np(_: UnsafePointer<CChar>) -> CInt { fatalError() }
public func pthread_create(
    _: UnsafeMutablePointer<pthread_t?>!,
    _: UnsafePointer<pthread_attr_t>?,
    _: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> CInt { fatalError() }
