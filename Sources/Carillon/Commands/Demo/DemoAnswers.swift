/// What the simulator of APNs answers in `carillon try` and `carillon demo --web`: the first digits of a token decide.
enum DemoAnswers {
    static let rules = ["dead=410:Unregistered", "bad=400:BadDeviceToken", "503=503:ServiceUnavailable*2"]
    static let text = "Tokens that begin with dead are answered 410, those with bad 400, and those with 503 twice 503"
}
