import { lostLines } from '@signet/policy-engine/internal/output';
import { Counter, Histogram, Registry } from 'prom-client';
import { revocationReasons } from '../model/certificate-store.ts';
import {
  attestationMethods,
  attestationOutcomes,
  certificateKinds,
  type Observer,
  type ServerState,
  storeOperations,
} from '../observer.ts';
import { watchProcess } from './process-metrics.ts';
import { lostLinesMetric } from './readings.ts';
import { requestMetrics } from './request-metrics.ts';
import { addStateGauges } from './state-gauges.ts';

/** Seconds: from half a millisecond to five seconds. */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Metrics of one process. */
export interface ServerMetrics {
  readonly observer: Observer;
  /** Starts the gauges, which are absent before. */
  follow(state: () => ServerState): void;
  /** All readings as of now. */
  read(): Promise<readonly { readonly name: string }[]>;
}

/** Counts from now on. Children of closed label sets are made at once: a series that is there from the start shows its first increment. */
export function createServerMetrics(): ServerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name, help, labelNames: [...labelNames], registers });
  const tokens = counter('signet_tokens_issued_total', 'Tokens signed, by kind.', ['kind']);
  const refusals = counter('signet_token_refusals_total', 'Refused token requests, by OAuth error.', ['error']);
  const issued = counter('signet_certificates_issued_total', 'Certificates recorded as issued, by kind.', ['kind']);
  const revoked = counter('signet_certificates_revoked_total', 'Certificates revoked by this server.', ['reason']);
  const attested = counter('signet_instance_attestations_total', 'Attestations of instances.', ['method', 'outcome']);
  const emergencies = counter('signet_break_glass_total', 'Changes made by break-glass, without the approvals needed.');
  const bundles = counter('signet_bundle_signatures_total', 'Signatures of policy bundles.');
  const failures = counter(
    'signet_snapshot_refresh_failures_total',
    'Failed reads of the change counter of the store.',
  );
  const histogram = { buckets: durationBuckets, registers };
  const refreshes = new Histogram({
    ...histogram,
    name: 'signet_snapshot_refresh_duration_seconds',
    help: 'Duration of reading changes from the store and updating the snapshot.',
  });
  const operations = new Histogram({
    ...histogram,
    name: 'signet_store_operation_duration_seconds',
    help: 'Duration of store operations, including waiting time.',
    labelNames: ['operation'],
  });
  const byOperation = childrenOf(storeOperations, (operation) => operations.labels(operation));
  const byKind = childrenOf(['access', 'id'] as const, (kind) => tokens.labels(kind));
  const byCertificate = childrenOf(certificateKinds, (kind) => issued.labels(kind));
  const byReason = childrenOf(revocationReasons, (reason) => revoked.labels(reason));
  const byMethod = childrenOf(attestationMethods, (method) =>
    childrenOf(attestationOutcomes, (outcome) => attested.labels(method, outcome)),
  );
  for (const zero of [byKind, byCertificate, byReason, ...Object.values(byMethod)]) {
    for (const child of Object.values(zero)) child.inc(0);
  }
  new Counter({
    ...lostLinesMetric,
    registers,
    collect() {
      this.reset();
      this.inc(lostLines());
    },
  });
  watchProcess(registry);
  return {
    observer: {
      answered: requestMetrics(registry, durationBuckets),
      tokenRefused: (error) => refusals.labels(error).inc(),
      signed: (kind) => (kind === 'bundle' ? bundles.inc() : byKind[kind].inc()),
      certificateIssued: (kind) => byCertificate[kind].inc(),
      certificatesRevoked: (reason, count) => byReason[reason].inc(count),
      glassBroken: () => emergencies.inc(),
      attested: (method, outcome) => byMethod[method][outcome].inc(),
      snapshotRefreshed: (seconds, isDone) => {
        refreshes.observe(seconds);
        if (!isDone) failures.inc();
      },
      storeUsed: (operation, seconds) => byOperation[operation].observe(seconds),
    },
    follow: (state) => addStateGauges(registry, state),
    read: () => registry.getMetricsAsJSON(),
  };
}

function childrenOf<Name extends string, Child>(names: readonly Name[], child: (name: Name) => Child) {
  return Object.fromEntries(names.map((name) => [name, child(name)])) as Record<Name, Child>;
}
