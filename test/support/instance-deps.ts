import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { exactKeyId } from '@signet/server/base/registered-key';
import type { AttestationRequest, Attested } from '@signet/server/instances/attestation/attestation';
import { plainlyAttested } from '@signet/server/instances/attestation/attestation';
import type { Caller } from '@signet/server/instances/caller';
import type { InstanceDeps } from '@signet/server/instances/instance-deps';
import type { RecordingConditions } from '@signet/server/model/certificate-store';
import type { InstanceDetails, InstanceKey, InstanceStatus, Lineage } from '@signet/server/model/instance-store';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import { buildTbsCertificate, serialFrom, signCertificate } from '@signet/server/x509/build-certificate';
import { relativeName } from '@signet/server/x509/distinguished-name';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { signetForms } from '@signet/server/x509/name-forms';
import type { NamingRules } from '@signet/server/x509/naming';
import { oids } from '@signet/server/x509/oids';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import { createPki } from './pki.ts';
import { ecPair, type Pair } from './requests.ts';

/* Dependencies of instances, with stores that only record their calls: for tests of its rules without a server. */

export const naming: NamingRules = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };
export const nowSeconds = 1_767_225_600;
export const instanceKey: InstanceKey = {
  provider: parsePrincipalName('sys.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
export const ownPair: Pair = ecPair();

const pki = await createPki({ now: () => nowSeconds * 1000 });
const issuer = issuerFromPem(pki.issuer.certificate, pki.issuer.key);

/** Caller with a certificate of this key and these DNS names. */
export function callerOf(principal: string, dnsNames: readonly string[] = [], pair = ownPair): Caller {
  const subjectKey = parseSubjectKey(pair.publicKey.export({ type: 'spki', format: 'der' }));
  const notAfter = nowSeconds + 86_400;
  const profile = {
    kind: 'service',
    commonName: principal,
    subject: [relativeName(oids.commonName, principal)],
    altNames: dnsNames.map((value) => ({ kind: 'dns', value }) as const),
    usage: 'both',
    notBefore: nowSeconds - 3600,
    notAfter,
  } as const;
  const serial = serialFrom(nowSeconds, Buffer.alloc(12, 1));
  const der = signCertificate(buildTbsCertificate(profile, subjectKey, issuer, serial), issuer);
  const times = { issuedAt: nowSeconds * 1000, notAfter: notAfter * 1000 };
  return {
    principal: parsePrincipalName(principal),
    certificate: { serial: '0a', der, ...times },
    address: '10.0.0.1',
    requestId: 'r1',
  };
}

export interface DepsSketch {
  readonly snapshot: Snapshot;
  /** Snapshot that the recording transaction finds; default the same. */
  readonly later?: Snapshot | undefined;
  /** Record of the presented certificate. */
  readonly row?: object | undefined;
  readonly status?: InstanceStatus | undefined;
  readonly rotation?: string;
  /** State of the presented serial once the provider has answered; default as before. */
  readonly still?: Lineage;
  readonly attested?: Partial<Attested>;
  /** True if the provider can be called, in the first snapshot and in the later one. */
  readonly providers?: readonly [first: boolean, later: boolean];
}

/** The dependencies, and what happened to them in order. */
export function instanceDeps(sketch: DepsSketch): { readonly deps: InstanceDeps; readonly done: string[] } {
  const { snapshot, later = snapshot, status, rotation = 'moved', providers = [true, true] } = sketch;
  const done: string[] = [];
  const attested = { ...plainlyAttested, ...sketch.attested };
  const provider = {
    attest: async ({ operation }: AttestationRequest) => {
      done.push(`asked to ${operation}`);
      return attested;
    },
  };
  const decide = async (conditions?: RecordingConditions) => conditions?.decide(undefined as never);
  const deps = {
    snapshot: () => snapshot,
    snapshotAt: async () => later,
    clock: { now: () => nowSeconds * 1000 },
    randomBytes: (size: number) => Buffer.alloc(size, 2),
    rules: naming,
    findKeyId: exactKeyId,
    hosts: { rules: naming, isServerHost: () => false },
    reservedAddresses: { faultOf: () => undefined },
    issuers: { signing: () => issuer, current: () => ({ active: [issuer], draining: [], rootsPem: pki.bundle }) },
    certificates: {
      find: async () => sketch.row,
      intend: async (row: { kind: string; vouchedKey?: string }) =>
        void done.push(`intended ${row.kind} ${row.vouchedKey}`),
      confirm: async (_serial: string, _fingerprint: string, conditions?: RecordingConditions) => {
        await decide(conditions);
        done.push('confirmed');
      },
    },
    instances: {
      statusOf: async () => status,
      rotate: async (
        _key: unknown,
        _presented: unknown,
        given: { sshAllowed: boolean },
        conditions?: RecordingConditions,
      ) => {
        await decide(conditions);
        done.push(`rotated, SSH ${given.sshAllowed}`);
        return rotation;
      },
      register: async (
        _key: unknown,
        _given: unknown,
        { clientOnly, sshAllowed }: InstanceDetails,
        conditions?: RecordingConditions,
      ) => {
        await decide(conditions);
        done.push(`registered ${JSON.stringify({ clientOnly, sshAllowed })}`);
      },
      allowSsh: async (_key: unknown, _presented: unknown, allowed: boolean) => {
        done.push(`SSH ${allowed}`);
        return sketch.still ?? status?.lineage;
      },
    },
    store: {
      change: async (_context: unknown, work: (transaction: object) => Promise<unknown>) =>
        work({
          source: () => undefined,
          revokeInstance: async () => void done.push('instance revoked'),
          removeInstance: async () => void done.push('instance removed'),
        }),
    },
    onRevoked: async () => void done.push('told'),
    noteForeignRefresh: async () => void done.push('alarm'),
    findProvider: (at: Snapshot) => (providers[at === snapshot ? 0 : 1] ? provider : undefined),
    readHostRequest:
      (text: string) => async (_key: unknown, host: { namesAt: (at: Snapshot) => readonly string[] }) => {
        done.push(`host certificate for ${host.namesAt(snapshot).join()}`);
        return { certificate: text, signer: 'signer' };
      },
    limits: { serviceDefaultSeconds: 3600, serviceMaxSeconds: 7200, roleDefaultSeconds: 60, roleMaxSeconds: 60 },
  };
  return { deps: deps as unknown as InstanceDeps, done };
}
