import CarillonHTTP2
import CarillonPostgres
import CarillonTLS
import CarillonText

extension Command {
    static let version = Command(
        "version",
        roles: [],
        summary: "Print the versions of the program and of the libraries it uses.",
        options: [.json],
        run: { invocation in
            let versions = [
                ("carillon", Program.version), ("nghttp2", NGHTTP2.version), ("openssl", OpenSSLLibrary.version),
                ("libpq", ClientLibrary.version),
            ]
            invocation.show(.object(versions.map { ($0, .string($1)) })) { console in
                for (name, version) in versions { console.print("\(name) \(version)") }
            }
            return .done
        }
    )
}
