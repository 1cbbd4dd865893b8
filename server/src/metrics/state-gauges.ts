import { Gauge, type Registry } from 'prom-client';
import { clockWitnesses, type ServerState, unreadyReasons } from '../observer.ts';

/** Aggregation of the values of several processes of one server. */
type Together = 'sum' | 'min' | 'max';

interface GaugeOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly together: Together;
  readonly label?: Label;
  readonly values: (state: ServerState) => readonly (readonly [value: number, label?: string])[];
}

const seconds = (milliseconds: number) => milliseconds / 1000;

/** INVARIANT: of several processes the one that is worst off is shown: the oldest snapshot, a store that one of them does not reach. */
const gauges: readonly GaugeOptions<string>[] = [
  {
    name: 'signet_ready',
    help: 'Readiness by reason: 0 if the reason makes the server unready.',
    together: 'min',
    label: 'reason',
    values: ({ unready }) => unreadyReasons.map((reason) => [Number(unready !== reason), reason]),
  },
  {
    name: 'signet_clock_doubted',
    help: 'Whether the clock of the server differs from the database, its own records, those of peers, or most callers.',
    together: 'max',
    label: 'by',
    values: ({ clockDoubtedBy }) => clockWitnesses.map((by) => [Number(clockDoubtedBy.includes(by)), by]),
  },
  {
    name: 'signet_clock_ahead_seconds',
    help: 'Seconds by which the clock of the server was ahead of that of its database at the last check.',
    together: 'max',
    label: 'by',
    values: ({ aheadOfDatabaseMs: ahead }) => (ahead === undefined ? [] : [[seconds(ahead), 'database']]),
  },
  {
    name: 'signet_snapshot_position',
    help: 'Change counter of the store that the snapshot includes.',
    together: 'min',
    values: ({ snapshot }) => [[snapshot.counter]],
  },
  {
    name: 'signet_snapshot_age_seconds',
    help: 'Age of the last check that the snapshot matches the store.',
    together: 'max',
    values: ({ now, snapshot }) => [[seconds(Math.max(0, now - snapshot.refreshedAt))]],
  },
  {
    name: 'signet_snapshot_domains',
    help: 'Domains in the snapshot.',
    together: 'min',
    values: ({ snapshot }) => [[snapshot.domains]],
  },
  {
    name: 'signet_store_up',
    help: 'Whether the last read of the store succeeded.',
    together: 'min',
    values: ({ store }) => [[Number(store.isUp)]],
  },
  {
    name: 'signet_store_writable',
    help: 'Whether the last attempt to write a change succeeded.',
    together: 'min',
    values: ({ store }) => [[Number(store.isWritable)]],
  },
  {
    name: 'signet_store_diverged',
    help: 'Whether the history of the store differs from the one that this server loaded.',
    together: 'max',
    values: ({ store }) => [[Number(store.isDiverged)]],
  },
  {
    name: 'signet_store_pool_connections',
    help: 'Connections to the database, and requests waiting for one.',
    together: 'sum',
    label: 'state',
    values: ({ connections }) => (connections === undefined ? [] : Object.entries(connections).map(([s, n]) => [n, s])),
  },
  {
    name: 'signet_key_active_age_seconds',
    help: 'Age of the active signing key since its activation, by purpose.',
    together: 'max',
    label: 'purpose',
    values: ({ now, keys }) => keys.map(({ purpose, activeSince }) => [seconds(now - activeSince), purpose]),
  },
  {
    name: 'signet_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of the server, that of its signing issuer and the first of its revocation lists expire.',
    together: 'min',
    label: 'which',
    values: ({ certificates }) => certificates.map(({ which, notAfter }) => [seconds(notAfter), which]),
  },
  {
    name: 'signet_issuer_life_left_ratio',
    help: 'Remaining share of the validity of the signing issuer, from 0 to 1.',
    together: 'min',
    values: ({ issuerLeft }) => (issuerLeft === undefined ? [] : [[issuerLeft]]),
  },
];

/** Gauges of what a server is, read when they are asked for. */
export function addStateGauges(registry: Registry, state: () => ServerState): void {
  for (const { name, help, together, label, values } of gauges) {
    const gauge = new Gauge<string>({
      name,
      help,
      aggregator: together,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      collect() {
        // A key or a list that is there no longer leaves no series behind.
        gauge.reset();
        for (const [value, of] of values(state())) {
          if (label === undefined || of === undefined) gauge.set(value);
          else gauge.set({ [label]: of }, value);
        }
      },
    });
  }
}
