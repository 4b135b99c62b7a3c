import CarillonWeb

enum ActionResult {
    case page(any PageView)
    /// Nothing was changed. The form shows what was entered, so that it can be corrected.
    case refused(any PageView, RequestError)
    /// Something was changed, and this page shows it.
    case done(Link, Notice)
}
