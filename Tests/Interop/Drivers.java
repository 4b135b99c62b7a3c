import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import org.postgresql.util.PGobject;

/** The table of cases for JDBC, whose methods say the type of what they bind, or leave it to the server. */
public class Drivers {
    interface Binding { void bind(PreparedStatement statement, int place) throws Exception; }

    record Argument(String name, Binding binding) {}

    static final String ALERT = "{\"title\":\"Hello\",\"body\":\"a, b: c\"}";
    static final String SHOWN = "{\"aps\":{\"alert\":" + ALERT + "}}";
    static final String PLAIN = "{\"aps\":{\"alert\":\"x\"}}";
    static Connection connection;
    static String driver;

    public static void main(String[] words) throws Exception {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/"
            + System.getenv("PGDATABASE") + "?user=" + System.getenv("PGUSER");
        for (String text : List.of("varchar", "unspecified")) {
            connection = DriverManager.getConnection(url + "&stringtype=" + text);
            driver = "JDBC, strings " + text + " " + connection.getMetaData().getDriverVersion() + " (" + words[0] + ")";
            cases();
            connection.close();
        }
    }

    static void cases() throws Exception {
        Array two = connection.createArrayOf("text", new String[] {"ab".repeat(32), "cd".repeat(32)});
        Argument tokens = new Argument("tokens", (s, i) -> s.setArray(i, two));
        Argument varchars = new Argument("tokens", (s, i) ->
            s.setArray(i, connection.createArrayOf("varchar", new String[] {"ab".repeat(32)})));
        Argument none = new Argument("tokens", (s, i) -> s.setArray(i, connection.createArrayOf("text", new String[0])));
        Argument alert = text("alert", "x");
        run("alert", "enqueue", PLAIN, 1, tokens, alert);
        run("tokens as varchar", "enqueue", PLAIN, 1, varchars, alert);
        run("alert as text", "enqueue", SHOWN, 1, tokens, text("alert", ALERT));
        run("alert as OTHER", "enqueue", SHOWN, 1, tokens, other("alert", ALERT));
        run("alert as json", "enqueue", SHOWN, 1, tokens, json("alert", "json", ALERT));
        run("alert as jsonb", "enqueue", SHOWN, 1, tokens, json("alert", "jsonb", ALERT));
        run("broadcast as json", "broadcast", SHOWN, 2, json("alert", "json", ALERT));
        run("payload as text", "enqueue", SHOWN, 1, tokens, text("payload", SHOWN));
        run("payload as OTHER", "enqueue", SHOWN, 1, tokens, other("payload", SHOWN));
        run("payload as json", "enqueue", SHOWN, 1, tokens, json("payload", "json", SHOWN));
        run("payload as jsonb", "enqueue", SHOWN, 1, tokens, json("payload", "jsonb", SHOWN));
        run("payloads as text", "enqueue", SHOWN, 1, tokens, new Argument("payloads", (s, i) ->
            s.setArray(i, connection.createArrayOf("text", new String[] {PLAIN, SHOWN}))));
        run("payloads as jsonb", "enqueue", SHOWN, 1, tokens, new Argument("payloads", (s, i) ->
            s.setArray(i, connection.createArrayOf("jsonb", new String[] {PLAIN, SHOWN}))));
        // Nobody has registered this token: its badge is counted from 0 each time.
        run("counted badge", "enqueue", "{\"aps\":{\"alert\":\"x\",\"badge\":3}}", 1, alert,
            new Argument("tokens", (s, i) -> s.setArray(i, connection.createArrayOf("text", new String[] {"ef".repeat(32)}))),
            new Argument("badge_add", (s, i) -> s.setInt(i, 3)));
        run("lines", "enqueue", "{\"aps\":{\"alert\":{\"title\":\"T\",\"body\":\"B\"}}}", 1, tokens, text("title", "T"),
            text("body", "B"));
        run("numbers as short, int, long", "enqueue", "{\"aps\":{\"alert\":\"x\",\"badge\":1}}", 0, tokens, alert,
            new Argument("badge", (s, i) -> s.setShort(i, (short) 1)), new Argument("priority", (s, i) -> s.setInt(i, 5)),
            new Argument("lane", (s, i) -> s.setLong(i, 0)));
        run("nulls", "enqueue", PLAIN, 1, tokens, alert, nothing("badge", Types.BIGINT), nothing("payload", Types.VARCHAR),
            nothing("extra", Types.OTHER), nothing("lane", Types.SMALLINT), nothing("title", Types.NULL));
        run("no tokens", "enqueue", null, 0, none, alert);
        run("extra as jsonb", "enqueue", "{\"aps\":{\"alert\":\"x\"},\"order\":7}", 1, tokens, alert,
            json("extra", "jsonb", "{\"order\":7}"));
        run("times and flags", "enqueue", "{\"aps\":{\"alert\":\"x\",\"content-available\":1}}", 1, tokens, alert,
            new Argument("expires_at", (s, i) -> s.setObject(i, OffsetDateTime.parse("2100-01-01T00:00:00Z"))),
            new Argument("content_available", (s, i) -> s.setBoolean(i, true)));
    }

    static Argument text(String name, String value) { return new Argument(name, (s, i) -> s.setString(i, value)); }

    static Argument other(String name, String value) {
        return new Argument(name, (s, i) -> s.setObject(i, value, Types.OTHER));
    }

    static Argument nothing(String name, int type) { return new Argument(name, (s, i) -> s.setNull(i, type)); }

    static Argument json(String name, String type, String value) throws Exception {
        PGobject object = new PGobject();
        object.setType(type);
        object.setValue(value);
        return new Argument(name, (s, i) -> s.setObject(i, object));
    }

    static void run(String name, String function, String payload, int lane, Argument... arguments) {
        String fault;
        try {
            fault = judge(function, payload, lane, arguments);
        } catch (Exception error) {
            fault = error.getMessage().replaceAll("\\s+", " ");
        }
        System.out.println(String.join("\t", fault == null ? "ok" : "FAILED", driver, name, fault == null ? "" : fault));
    }

    static String judge(String function, String payload, int lane, Argument... arguments) throws Exception {
        List<String> named = new ArrayList<>(List.of("app => ?"));
        for (Argument argument : arguments) { named.add(argument.name() + " => ?"); }
        String query = "SELECT carillon." + function + "(" + String.join(", ", named) + ")";
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setString(1, "demo");
            for (int i = 0; i < arguments.length; i++) { arguments[i].binding().bind(statement, i + 2); }
            ResultSet rows = statement.executeQuery();
            rows.next();
            long id = rows.getLong(1);
            if (rows.wasNull() || payload == null) {
                return rows.wasNull() == (payload == null) ? null : "returned " + rows.getString(1);
            }
            return row(id, payload, lane);
        }
    }

    /** Compares what is stored with what should be, as jsonb. */
    static String row(long id, String payload, int lane) throws Exception {
        String query = "SELECT m.one::jsonb = ?::jsonb AND lane = ?, m.one::text, lane FROM "
            + "(SELECT coalesce(q.payload, q.payloads[2]) AS one, q.* FROM carillon.messages q) AS m WHERE id = ?";
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setString(1, payload);
            statement.setInt(2, lane);
            statement.setLong(3, id);
            ResultSet rows = statement.executeQuery();
            rows.next();
            return rows.getBoolean(1) ? null : "is " + rows.getString(2) + " in lane " + rows.getInt(3);
        }
    }
}
