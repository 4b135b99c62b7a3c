import Testing

@testable import CarillonPostgres

@Suite struct HostListTests {
    private let list = HostList(host: "a,b,c", address: "", port: "1,2,3")

    @Test func `a list continues after the host that did not answer`() {
        let rest = list.after(ServerAddress(host: "a", port: "1"))
        #expect(rest?.keywords.map(\.value) == ["b,c", "2,3"])
        #expect(rest?.after(ServerAddress(host: "b", port: "2"))?.keywords.map(\.value) == ["c", "3"])
        #expect(list.after(ServerAddress(host: "c", port: "3")) == nil)
        #expect(list.after(ServerAddress(host: "d", port: "1")) == nil)
    }

    @Test func `a single port counts for all hosts`() {
        let list = HostList(host: "a,b", address: "", port: "5433")
        #expect(list.after(ServerAddress(host: "a", port: "5433"))?.keywords.map(\.value) == ["b", "5433"])
    }

    @Test func `a silent host comes last`() {
        #expect(list.withLast(ServerAddress(host: "a", port: "1"))?.keywords.map(\.value) == ["b,c,a", "2,3,1"])
        #expect(list.withLast(ServerAddress(host: "a", port: "2")) == nil)
    }

    @Test func `the hosts that a string names are counted`() throws {
        #expect(try ConnectionString("postgresql://a,b:1,c/d").hostCount == 3)
        #expect(try ConnectionString("hostaddr=127.0.0.1,127.0.0.2 dbname=d").hostCount == 2)
        #expect(try ConnectionString("postgresql:///d").hostCount == 1)
    }

    @Test func `a host that accepts writes is asked for unless the user says otherwise`() throws {
        let string = try ConnectionString("postgresql://a,b/d?target_session_attrs=any")
        let keywords = string.keywords(application: "test", to: .writable).map(\.keyword)
        let ours = try #require(keywords.firstIndex(of: "target_session_attrs"))
        let users = try #require(keywords.firstIndex(of: "dbname"))
        // What comes later wins.
        #expect(ours < users)
        #expect(!string.keywords(application: "test").map(\.keyword).contains("target_session_attrs"))
    }
}
