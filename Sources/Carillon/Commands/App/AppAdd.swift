import ApplePush
import Postgres
import TLS

extension Command {
    static let appAdd = Command(
        "app",
        "add",
        summary: "Add an app: a topic, the credential to send with, and where to send to.",
        arguments: [Argument("NAME", "The name that carillon.enqueue will know the app by.")],
        required: [.topic, .credential],
        options: [.environment, .gateway, .gatewayCA, .protocol, .maxRate, .maxAttempts, .database],
        examples: [
            "carillon app add shop --topic com.example.shop --credential shop",
            "carillon app add try --topic com.example.try --credential try --gateway localhost:2197 --gateway-ca ca.pem",
        ],
        run: { try await AppAdd(invocation: $0).run() }
    )
}

private struct AppAdd {
    private static let insert = Statement(
        "app_add",
        """
        INSERT INTO carillon.apps (name, topic, certificate_id, environment, protocol, gateway, gateway_ca, max_rate,
            max_attempts)
        SELECT $1, $2, c.id, $4, $5, $6, $7, $8, coalesce($9, 10) FROM carillon.certificates c WHERE c.name = $3
        RETURNING (SELECT topics FROM carillon.certificates c WHERE c.id = certificate_id)
        """
    )

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let settings = invocation.settings
        let name = invocation.name
        let topic = settings.text(.topic) ?? ""
        let credential = settings.text(.credential) ?? ""
        var parameters = Parameters()
        for text in [name, topic, credential, settings.text(.environment), settings.text(.protocol)] {
            parameters.append(text)
        }
        parameters.append(try gateway())
        parameters.append(try gatewayCA())
        parameters.append(settings.countIfAny(.maxRate).map(Int32.init))
        parameters.append(settings.countIfAny(.maxAttempts).map(Int32.init))
        let topics = try await DatabaseScope.with(invocation) { connection, _ in
            try await insert(parameters, on: connection)
        }
        guard let topics else { throw CommandError.noCredential(credential) }
        if !topics.isEmpty, !topics.contains(topic), !topics.contains(where: { topic.hasPrefix($0 + ".") }) {
            invocation.console.warn(
                "The certificate '\(credential)' is for \(topics.joined(separator: ", ")), not for \(topic); "
                    + "APNs will refuse to send."
            )
        }
        invocation.console.print("Added the app \(name).")
        return .done
    }

    /// The topics of the credential; nil when there is no such credential.
    private func insert(_ parameters: Parameters, on connection: PostgresConnection) async throws -> [String]? {
        do {
            return try await connection.query(Self.insert, parameters) { rows in
                if rows.isEmpty { return nil }
                return rows.isNull(0, 0) ? [] : try rows.strings(0, 0).compactMap { $0 }
            }
        } catch let error as PostgresError where error.sqlState == SQLState.uniqueViolation {
            throw CommandError(
                .failed,
                "There is an app named '\(invocation.name)' already.",
                hint: "Choose another name, or remove it first with 'carillon app remove \(invocation.name)'."
            )
        }
    }

    private func gateway() throws -> String? {
        guard let text = invocation.settings.text(.gateway) else { return nil }
        do {
            return try Gateway(text).description
        } catch {
            throw UsageError("--gateway takes an address such as localhost:2197, not '\(text)'.")
        }
    }

    private func gatewayCA() throws -> String? {
        guard let path = invocation.settings.text(.gatewayCA) else { return nil }
        guard invocation.settings.text(.gateway) != nil else {
            throw UsageError(
                "--gateway-ca is the root of --gateway, and there is none; Apple's roots are the system's."
            )
        }
        let text = try SmallFile.read(path).text
        do {
            _ = try TLSContext.client(identity: nil, trust: .pem(text), alpn: ["h2"])
        } catch {
            throw CommandError(
                .configuration,
                "The file \(path) holds no root certificate in PEM: \(error.message)",
                hint:
                    "It begins with -----BEGIN CERTIFICATE-----; 'carillon simulator --ca-out FILE' writes such a one."
            )
        }
        return text
    }
}
