import CarillonWeb
import Testing

@Suite struct HostAndPortTests {
    @Test(arguments: [
        ("localhost:2197", "localhost", 2197), ("[::1]:80", "::1", 80), (":9464", "0.0.0.0", 9464),
        ("9464", "127.0.0.1", 9464),
    ])
    func `a host and a port are read in every usual form`(text: String, host: String, port: UInt16) {
        #expect(Address(text) == Address(host: host, port: port))
    }

    @Test(arguments: ["", "localhost", "localhost:", "host:70000", "::1:80", "http://host:80", "host:x", "a b:1"])
    func `anything else is no address`(text: String) {
        #expect(Address(text) == nil)
    }
}
