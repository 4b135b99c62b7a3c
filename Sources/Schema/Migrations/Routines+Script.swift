/// The steps of applying functions, views and rights. Each is a script that runs in one transaction with the others.
extension Routines {
    /// What is created belongs to the owner of the schema, whoever migrates.
    static let asOwner = """
        DO $$
        BEGIN
            EXECUTE format('SET LOCAL ROLE %I', (SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace n
                WHERE n.nspname = 'carillon'));
        END
        $$;

        """

    /// One script. The order of files does not matter, because no body is checked before all functions exist. Comments name
    /// functions without their arguments, so they come after the functions of another release have gone.
    var definitions: (functions: String, comments: String) {
        var parts = (functions: "SET LOCAL check_function_bodies = off;\n", comments: "")
        for file in functions {
            let (text, comments) = file.parts
            parts.functions += "-- \(file.path)\n\(text)\n"
            parts.comments += comments
        }
        return parts
    }

    /// The routines that this transaction has not created or replaced. `as_reaper` is created by a numbered migration, and has
    /// another owner, unless a restore has changed it.
    static let stale = """
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'carillon' AND p.proowner = n.nspowner AND p.proname <> 'as_reaper'
            AND p.xmin <> pg_catalog.pg_current_xact_id()::xid
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::regclass
                AND d.objid = p.oid AND d.deptype = 'e')
        """

    /// Never with CASCADE: what a user has built on one stops it.
    static let dropStale = """
        DO $$
        DECLARE
            command text;
        BEGIN
            FOR command IN
                SELECT pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass)
                FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
                WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND c.relnamespace = 'carillon'::regnamespace
                    AND t.tgfoid IN (SELECT p.oid \(stale))
            LOOP
                EXECUTE command;
            END LOOP;
            -- In one statement, because they may depend on each other.
            SELECT 'DROP ROUTINE ' || pg_catalog.string_agg(p.oid::regprocedure::text, ', ') INTO command \(stale);
            IF command IS NOT NULL THEN
                EXECUTE command;
            END IF;
        END
        $$;

        """

    static func drop(views: [String]) -> String {
        views.isEmpty
            ? "" : "DROP VIEW IF EXISTS \(views.map { "carillon.\"\($0)\"" }.joined(separator: ", "));\n"
    }

    /// Revokes all rights: what `rights.sql` does before it grants any.
    var revocation: String {
        let lines = rights.text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.prefix { !$0.hasPrefix("GRANT ") }.joined(separator: "\n") + "\n"
    }

    /// Lists all faults in one error.
    static let validate = """
        SET LOCAL check_function_bodies = on;
        DO $$
        DECLARE
            routine record;
            faults text[] := '{}';
        BEGIN
            FOR routine IN
                SELECT p.oid, p.oid::regprocedure::text AS name, l.lanname AS language
                FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
                WHERE n.nspname = 'carillon' AND p.proowner = n.nspowner ORDER BY 2
            LOOP
                BEGIN
                    IF routine.language = 'sql' THEN
                        PERFORM pg_catalog.fmgr_sql_validator(routine.oid);
                    ELSIF routine.language = 'plpgsql' THEN
                        PERFORM pg_catalog.plpgsql_validator(routine.oid);
                    END IF;
                EXCEPTION
                    WHEN lock_not_available THEN
                        RAISE;
                    WHEN others THEN
                        faults := faults || pg_catalog.format('%s: %s', routine.name, SQLERRM);
                END;
            END LOOP;
            IF pg_catalog.cardinality(faults) > 0 THEN
                RAISE invalid_function_definition USING MESSAGE = pg_catalog.array_to_string(faults, '; ');
            END IF;
        END
        $$;

        """

    /// All of it for `psql`. As for numbered files that `psql` has run, no checksum is recorded.
    var script: String {
        let (functions, comments) = definitions
        let records = files.map { "    ('\($0.path)', '\(release)')" }.joined(separator: ",\n")
        return "-- The functions, views and rights of \(release)\nBEGIN;\n\n" + Self.asOwner + functions
            + Self.dropStale + comments
            + views.map(Self.titled).joined() + Self.titled(rights) + Self.validate
            + "DELETE FROM carillon.schema_routines;\n"
            + "INSERT INTO carillon.schema_routines (file, release) VALUES\n\(records);\n\nCOMMIT;\n"
    }

    private static func titled(_ file: File) -> String { "-- \(file.path)\n\(file.text)\n" }
}

extension Routines.File {
    /// Its statements without those that comment on a function, and these. They begin a line, and end one.
    var parts: (text: String, comments: String) {
        var parts: (text: [UInt8], comments: [UInt8]) = ([], [])
        var isComment = false
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.starts(with: "COMMENT ON ".utf8) { isComment = true }
            if isComment {
                parts.comments += line
                parts.comments.append(UInt8(ascii: "\n"))
                if line.last == UInt8(ascii: ";") { isComment = false }
            } else {
                parts.text += line
                parts.text.append(UInt8(ascii: "\n"))
            }
        }
        return (String(decoding: parts.text, as: UTF8.self), String(decoding: parts.comments, as: UTF8.self))
    }
}
