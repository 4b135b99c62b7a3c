/// A name that ApplePush has too.
public enum JSON {
    /// `null`
    case null
}
