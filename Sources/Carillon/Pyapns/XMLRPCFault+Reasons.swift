import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension XMLRPCFault {
    static let doubt = "It is unknown whether the call took effect: notifications may have been enqueued."
    private static let noEffect = "The call had no effect."

    /// Explains any error to the caller of a method. What went wrong in the service itself is for its log alone: it may name hosts,
    /// ports and roles.
    init(explaining error: any Error) {
        switch error {
        case let fault as XMLRPCFault: self = fault
        case let error as PostgresError: self.init(explaining: error)
        case let error as SettingsError:
            if let cause = error.underlying as? PostgresError, error.code == .database {
                self.init(explaining: cause)
            } else {
                self.init(error.code == .exhausted ? .unavailable : .refused, error.message.asSentence)
            }
        default: self.init(unavailable: error, effect: Self.doubt)
        }
    }

    private init(explaining error: PostgresError) {
        let sentence = [error.message, error.hint].compactMap { $0?.asSentence }.joined(separator: " ")
        switch error.statementState {
        case SQLState.undefinedObject?:
            self.init(.unknownApp, "\(error.message.asSentence) Provision it, or add it with 'carillon app add'.")
        case let state? where SQLState.badArgument.contains(state):
            self.init(.refused, sentence)
        case SQLState.insufficientPrivilege?:
            self.init(
                .unavailable,
                "The database login of carillon pyapns has no right to do this: \(sentence) \(Self.noEffect) provision requires "
                    + "the owner of the schema, feedback requires carillon_worker, notify requires carillon_app or the owner."
            )
        default:
            let effect = error.effect == .unknown ? Self.doubt : Self.noEffect
            self.init(unavailable: error, effect: effect)
        }
    }

    private init(unavailable error: any Error, effect: String) {
        let what = error is PostgresError ? "database" : "service"
        self.init(
            .unavailable,
            "The \(what) cannot do this now. The log of carillon pyapns says why, under the reference "
                + "\(Explanation(error).reference). \(effect)"
        )
    }
}
