-- Audit: who did what, when, why, with which result. Append-only: a rule of the
-- database, so that no code of the console can rewrite it.
CREATE TABLE audit (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    actor        text        NOT NULL,
    remote       text,                                 -- the address it came from
    act          text        NOT NULL,
    object       text        NOT NULL,
    operation_id text,                                 -- ties the entries of one act together
    reason       text,
    result       text        NOT NULL
);
CREATE INDEX audit_at_idx        ON audit (id DESC);
CREATE INDEX audit_object_idx    ON audit (object, id DESC);
CREATE INDEX audit_operation_idx ON audit (operation_id, id) WHERE operation_id IS NOT NULL;

CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
