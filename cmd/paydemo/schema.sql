-- The business database of the articles' payment system. The console only
-- reads it, through its probes.

-- Orders: guard 2 is the move from INIT to PAID, made by one run only.
CREATE TABLE IF NOT EXISTS t_order (
    order_no   text          PRIMARY KEY,
    user_id    bigint        NOT NULL,
    amount     numeric(14,2) NOT NULL CHECK (amount > 0),
    status     text          NOT NULL CHECK (status IN ('INIT', 'PAID', 'SETTLED', 'REFUNDED')),
    created_at timestamptz   NOT NULL DEFAULT now(),
    updated_at timestamptz   NOT NULL DEFAULT now()
);

-- Serves the page's list of orders, newest first.
CREATE INDEX IF NOT EXISTS t_order_newest_idx ON t_order (created_at DESC);

CREATE TABLE IF NOT EXISTS t_account (
    user_id bigint        PRIMARY KEY,
    balance numeric(14,2) NOT NULL CHECK (balance >= 0)
);

-- Flows: every change of a balance, so that a balance is the sum of its flows.
-- A charge is negative. Guard 3 is uk_biz_no_type; a consumer without guard 3
-- takes it off, to show what happens then.
CREATE TABLE IF NOT EXISTS t_account_flow (
    id         bigint        GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    bigint        NOT NULL REFERENCES t_account,
    amount     numeric(14,2) NOT NULL,
    biz_no     text          NOT NULL,
    type       text          NOT NULL CHECK (type IN ('OPENING', 'TOP_UP', 'PAY_DEDUCT', 'REFUND')),
    created_at timestamptz   NOT NULL DEFAULT now(),

    CONSTRAINT uk_biz_no_type UNIQUE (biz_no, type)
);

-- What the bank did. It stands for another company's system: it is written
-- outside our transactions, and knows a repeated call by its key.
CREATE TABLE IF NOT EXISTS t_bank_charge (
    idempotency_key text          PRIMARY KEY,
    amount          numeric(14,2) NOT NULL,
    calls           int           NOT NULL DEFAULT 1,
    created_at      timestamptz   NOT NULL DEFAULT now()
);

-- Notices to users: the late step that is not critical.
CREATE TABLE IF NOT EXISTS t_notice (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_no   text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Controls: the faults that the system is told to have. All its processes read
-- them here. order:<order_no> is a fault of one order.
CREATE TABLE IF NOT EXISTS t_control (
    name  text PRIMARY KEY,
    value text NOT NULL
);
