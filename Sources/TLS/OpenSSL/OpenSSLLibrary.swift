import CarillonCOpenSSL

package enum OpenSSLLibrary {
    /// The version at run time, such as `3.0.19`.
    package static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
