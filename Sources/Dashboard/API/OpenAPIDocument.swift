import CarillonText
import CarillonWeb

/// The description of the API for programs: OpenAPI 3.1, made from the routes.
struct OpenAPIDocument: JSONConvertible {
    /// Of the program.
    let version: String
    /// The path below which the routes are, without a slash at its end.
    let base: String

    private static let problem = APIType.record([
        "type": .string, "title": .string, "status": .integer, "detail": .string, "hint": .string,
    ])
    private static let message = APIType.record([
        "id": .integer, "app": .string, "is_new": .boolean, "see": .string,
    ])

    var json: JSONValue {
        let paths = APIRoute.all.reduce(into: [String]()) { if !$0.contains($1.fullPath) { $0.append($1.fullPath) } }
        let document: JSONValue = [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": version,
                "description": "Apple push notifications from PostgreSQL. docs/http.md describes the routes.",
            ] as JSONValue,
            "security": [["token": [String]()] as JSONValue],
            "paths": JSONValue.object(paths.map { ($0, Self.item(at: $0)) }),
            "components": [
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"] as JSONValue] as JSONValue,
                "schemas": ["Problem": Self.problem.schema] as JSONValue,
            ] as JSONValue,
        ]
        return base.isEmpty ? document : .joined(document, ["servers": [["url": base] as JSONValue]])
    }

    private static func item(at path: String) -> JSONValue {
        .object(
            APIRoute.all.filter { $0.fullPath == path }.map { ($0.method.rawValue.lowercased(), operation($0)) }
        )
    }

    private static func operation(_ route: APIRoute) -> JSONValue {
        var parameters = [parameter(APIField("app", .string, required: true), in: "path")]
        for field in route.parameters {
            parameters.append(parameter(field, in: route.isInPath(field) ? "path" : "query"))
        }
        if route.takesKey { parameters.append(parameter(APIField("Idempotency-Key", .string), in: "header")) }
        let operation: JSONValue = [
            "operationId": route.name,
            "summary": route.summary,
            "description": "Calls carillon.\(route.function). The token needs the right \(route.right.rawValue).",
            "parameters": parameters,
            "responses": responses(of: route),
        ]
        return route.members.isEmpty ? operation : .joined(operation, ["requestBody": body(of: route.members)])
    }

    private static func parameter(_ field: APIField, in place: String) -> JSONValue {
        ["name": field.name, "in": place, "required": field.isRequired, "schema": field.type.schema]
    }

    private static func body(of members: [APIField]) -> JSONValue {
        let schema: JSONValue = [
            "type": "object",
            "additionalProperties": false,
            "required": members.filter(\.isRequired).map(\.name),
            "properties": JSONValue.object(
                members.map { ($0.name, $0.isRequired ? $0.type.schema : $0.type.orNull) }
            ),
        ]
        return ["required": true, "content": ["application/json": ["schema": schema] as JSONValue] as JSONValue]
    }

    private static func responses(of route: APIRoute) -> JSONValue {
        var responses: [(String, JSONValue)] =
            switch route.answer {
            case .message:
                [
                    ("200", answer("An earlier request enqueued the message, or there was none", message)),
                    ("201", answer("The message is enqueued", message)),
                ]
            case .object(let type), .first(let type): [("200", answer("Done", type))]
            case .member(let name, let type): [("200", answer("Done", .record([name: type])))]
            case .nothing: [("204", ["description": "Done"])]
            case .notices:
                [
                    ("200", answer("Done, with remarks", .record(["notices": .list(.string)]))),
                    ("204", ["description": "Done"]),
                ]
            }
        for status in route.problems { responses.append(("\(status.rawValue)", refusal(status))) }
        return .object(responses)
    }

    private static func refusal(_ status: ProblemStatus) -> JSONValue {
        response(
            status.meaning.prefix(1).uppercased() + status.meaning.dropFirst(),
            "application/problem+json",
            ["$ref": "#/components/schemas/Problem"]
        )
    }

    private static func answer(_ text: String, _ type: APIType) -> JSONValue {
        response(text, "application/json", type.schema)
    }

    private static func response(_ text: String, _ mediaType: String, _ schema: JSONValue) -> JSONValue {
        [
            "description": text,
            "content": JSONValue.object([(mediaType, ["schema": schema])]),
        ]
    }
}
