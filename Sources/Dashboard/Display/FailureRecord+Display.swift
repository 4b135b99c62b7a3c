import CarillonSchema
import CarillonText

extension FailureRecord {
    func json(_ tokens: TokenDisplay) -> JSONValue { json.with("token", tokens.text(token)) }
}
