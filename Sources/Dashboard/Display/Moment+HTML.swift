import CarillonPostgres
import CarillonWeb

extension Moment {
    /// The time in UTC, which the script of the pages converts to the viewer's time zone.
    var html: HTML { HTML(.time, Attribute(.datetime, text), Attribute(.title, text)) { readable } }
}
