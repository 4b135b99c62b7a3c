/// The methods of routes. `HEAD` is answered by the route of `GET`, without the body.
package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
}
