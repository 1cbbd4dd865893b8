/**
 * Cost of one unit of each kind of work, in microseconds of processor time. `npm run bench -- budgets` measures them on a server process;
 * bench/RESULTS.md has the figures.
 */
export const costs = {
  /** A mutual TLS handshake. */
  handshake: 3000,
  /** A request that is read, authenticated, answered and logged, beside what it asks for. */
  request: 200,
  /** A byte of a body that is read and parsed. */
  bodyByte: 0.15,
  /** A byte of an answer that is made and encrypted. */
  answerByte: 0.01,
  /** A unit of policy work (`Work` of the engine): about one compared character. */
  comparison: 0.015,
  /** A signature over a token. */
  signature: 100,
  verification: 120,
  /** A certificate: its request read and verified, itself signed and recorded. */
  certificate: 2000,
  /** A call of the cloud: what is asked signed and sent, the answer read. */
  cloudCall: 1200,
  /** A transaction that changes the store, with its audit record. */
  change: 4500,
  /** A read of the store. */
  read: 300,
  /** A row of the store, a rule or a member that is compared or shown. */
  row: 3,
  /** Decision about a caller's right to look at a domain or a part of it. */
  viewDecision: 15,
} as const;
