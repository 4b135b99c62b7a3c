import CarillonSchema
import CarillonWeb

/// The section of an app's page about what became of the pushes that Apple accepted.
struct DeliverySection {
    let funnel: DeliveryFunnel

    @HTMLBuilder var html: HTML {
        HTML(.h2) { "Delivered" }
        Tiles(
            .init("Enqueued", Self.text(funnel.ended), note: "pushes that were then sent, failed or expired"),
            .init("Accepted by Apple", Self.text(funnel.accepted), note: "APNs answered 200"),
            .init(
                "Delivered",
                funnel.delivered.map { Quantity.short(Amount($0, funnel.deliveredPrecision)) } ?? "not known",
                note: "passed to a device, which may not show them"
            )
        ).html
        HTML(.p, .class("note")) {
            "From \(funnel.first) to \(funnel.last), in UTC. Apple stores or discards some of what it accepts, delivers some on a later "
            "day, and rounds or hides its counts. All of them: "
            HTML(.code) { "carillon metrics show" }
        }
    }

    private static func text(_ count: Int64?) -> String { count.map(Quantity.short) ?? "not known" }
}
