import Glibc
import TestSupport
import Testing

@testable import CarillonHTTPClient

@Suite struct NetworkAddressTests {
    private static func address(_ text: String) -> NetworkAddress {
        var bytes = [UInt8](repeating: 0, count: text.contains(":") ? 16 : 4)
        precondition(inet_pton(text.contains(":") ? AF_INET6 : AF_INET, text, &bytes) == 1, "\(text) is an address")
        return NetworkAddress(bytes)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "17.188.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
        "192.167.1.1",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::200e", "2001:200::1",
        "64:ff9b::808:808", "::ffff:8.8.8.8",
    ])
    func `a host of the public internet may be a receiver`(text: String) {
        #expect(Self.address(text).isPublic)
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.0.1", "198.18.0.1", "198.19.255.255",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1",
        "::ffff:127.0.0.1", "::ffff:10.1.1.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "fe80::1",
        "fc00::1",
        "fd12::1", "fec0::1", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "100::1",
    ])
    func `an address of this machine, a private network or a special purpose may not`(text: String) {
        #expect(!Self.address(text).isPublic)
    }

    /// `make docs` writes it.
    @Test func `PostgreSQL has the same list`() throws {
        let ranges = [(NetworkAddress.reserved, 4), (NetworkAddress.reserved6, 16)].flatMap { list, size in
            list.map { range in
                let bytes = range.prefix + Array(repeating: 0, count: size - range.prefix.count)
                return "\(NetworkAddress(bytes))".replacing(/(:0)+$/, with: "::") + "/\(range.bits)"
            }
        }
        let list = ranges.map { "        '\($0)'" }.joined(separator: ",\n")
        try GeneratedPage("migrations/functions/events/public_addresses.sql")
            .expect([list], after: "(ARRAY[", before: "\n    ]::inet[]")
    }

    @Test func `an address is written as people know it`() {
        #expect(Self.address("169.254.169.254").description == "169.254.169.254")
        #expect(Self.address("::ffff:10.0.0.1").description == "10.0.0.1")
        #expect(Self.address("fe80::1").description == "fe80:0:0:0:0:0:0:1")
    }
}
