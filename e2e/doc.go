// Package e2e proves the whole product on real services: a payment system
// (paydemo) that dead-letters real messages, the console as its own process,
// and a browser. It holds tests only.
package e2e
