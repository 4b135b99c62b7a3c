import HTTP2
import TLS

/// The log tells the hash of bodies that are too long to be kept.
extension RunningDigest: BodyReader {}
