import CarillonText

/// What to do when pushes of an app fail for a reason that its settings cause.
package enum FailureRemedy {
    /// Nil if the settings are not the cause, or the reason does not tell.
    package static func sentence(for reason: String, of app: String) -> String? {
        guard let cause = cause(of: reason, app: app) else { return nil }
        return cause
            + " Then send them again: 'carillon failures requeue --app \(app.shellQuoted) --reason \(reason.shellQuoted)'."
    }

    private static func cause(of reason: String, app: String) -> String? {
        let set = "'carillon app set \(app.shellQuoted) --topic TOPIC'"
        return switch reason {
        case "TopicDisallowed":
            "The credential may not send to the topic: set the right one, \(set), or import a credential for it."
        case "DeviceTokenNotForTopic":
            "The device tokens belong to another topic: set the app's own, \(set)."
        case "BadTopic": "APNs knows no such topic: set the right one, \(set)."
        case "MissingTopic": "The credential is for several topics: name one, \(set)."
        case "BadDeviceToken":
            "If the device tokens are of the other environment, set it: 'carillon app set \(app.shellQuoted) --environment NAME'."
        default: nil
        }
    }
}
