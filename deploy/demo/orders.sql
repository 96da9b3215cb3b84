-- The payment system's own database, beside the console's.
CREATE DATABASE orders;
