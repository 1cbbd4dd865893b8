import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { repository, signetScript } from './dev-world.ts';
import type { DomainSketch } from './domain-sketch.ts';
import { field, instanceDomains, json, type Registered, refresh, register } from './instance-world.ts';
import { ecPair, requestPem } from './requests.ts';
import type { Installation, Serving } from './signet-program.ts';
import { type Caller, form } from './start-server.ts';

/** Acknowledged changes of all clients, over all their time. */
export interface Acknowledged {
  /** Last number that a role of `load` was given, and the one under way when the answer was missing. */
  readonly roles: Map<string, { told: number; asked: number }>;
  readonly documents: { told: number; asked: number };
  /** X.509 serial numbers with the fingerprints of the certificates, as the store writes both. */
  readonly certificates: Map<string, string>;
  /** Instances to the serial number last told. */
  readonly instances: Map<string, string>;
  readonly sshSerials: Set<string>;
  readonly keys: Set<string>;
  /** Instances with an unused join token. */
  readonly joinTokens: Set<string>;
  readonly tokenIds: string[];
  /** Tokens since the last start. */
  readonly tokens: string[];
  /** Answers that are neither a yes nor a 503. */
  readonly surprises: string[];
}

export function nothingYet(): Acknowledged {
  return {
    roles: new Map(),
    documents: { told: 0, asked: 0 },
    certificates: new Map(),
    instances: new Map(),
    sshSerials: new Set(),
    keys: new Set(),
    joinTokens: new Set(),
    tokenIds: [],
    tokens: [],
    surprises: [],
  };
}

/** The domains that the load needs. */
export const loadDomains: readonly DomainSketch[] = [
  ...instanceDomains.filter(({ name }) => name !== 'sys.auth' && name !== 'catalog'),
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: { admin: ['sys.auth.operator'], providers: ['sys.auth.server'], operators: ['media.studio'] },
    policies: {
      administration: [['ALLOW', 'admin', '*', '*']],
      providers: [['ALLOW', 'providers', 'launch', 'instance']],
      logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']],
    },
  },
  { name: 'catalog', services: { api: {} }, roles: { reader: ['media.player'] } },
  { name: 'load', roles: { admin: ['sys.auth.operator'] } },
];

export interface Load {
  /** Fulfilled when nothing is under way any more; ends the commands that run. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

interface World {
  readonly installation: Installation;
  readonly serving: Serving;
  readonly known: Acknowledged;
  readonly run: (...args: readonly string[]) => Promise<string | undefined>;
}

/** Load of everything at once, each kind of request one after the other, until the server is gone or `stop` is called. */
export async function startLoad(installation: Installation, serving: Serving, known: Acknowledged): Promise<Load> {
  const children = new Set<ChildProcess>();
  let stopped = false;
  const run = (...args: readonly string[]) => command(installation, args, children);
  const world: World = { installation, serving, known, run };
  known.tokens.length = 0;
  const identity = async (name: string) => serving.as(await installation.pki.identity(name));
  const [operator, admin, player, studio] = await Promise.all(
    ['sys.auth.operator', 'media.admin', 'media.player', 'media.studio'].map(identity),
  );
  if (!operator || !admin || !player || !studio) throw new Error('no callers');
  const kinds = [
    changeRoles(world, operator),
    applyDocuments(world),
    liveInstances(world, admin),
    joinTokens(world, admin),
    roleCertificates(world, player),
    sshCertificates(world, studio),
    rotateKeys(world),
    tokens(world, player),
  ];
  const loops = kinds.map(async (step) => {
    try {
      while (!stopped) await step();
    } catch (error) {
      // The server is gone: what was under way has no answer.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  });
  return {
    stop: async (signal) => {
      stopped = true;
      for (const child of children) child.kill(signal);
      await Promise.all(loops);
    },
  };
}

type Step = () => Promise<void>;

/** Both members of a pair, or none: a half change would show. */
function changeRoles({ known }: World, call: Caller): Step {
  return async () => {
    const role = `r${Math.floor(Math.random() * 5)}`;
    const state = known.roles.get(role) ?? { told: 0, asked: 0 };
    known.roles.set(role, state);
    state.asked += 1;
    const members = ['a', 'b'].map((side) => `media.${side}${state.asked}`);
    const { status, text: said } = await call(`^/management/v1/domains/load/roles/${role}`, json({ members }, 'PUT'));
    if (status === 200 || status === 201) state.told = state.asked;
    else if (status !== 503) known.surprises.push(`role: ${status} ${said}`);
  };
}

/** The same number in two domains, by one command. */
function applyDocuments({ installation, known, run }: World): Step {
  const folder = join(installation.folder, 'documents');
  mkdirSync(folder, { recursive: true });
  return async () => {
    known.documents.asked += 1;
    for (const name of ['one', 'two']) {
      const member = `media.n${known.documents.asked}`;
      writeFileSync(
        join(folder, `docs.${name}.yaml`),
        `domain: docs.${name}\nroles:\n  reader:\n    members: [${member}]\n`,
      );
    }
    if ((await run('apply', folder)) !== undefined) known.documents.told = known.documents.asked;
  };
}

function liveInstances({ serving, known }: World, admin: Caller): Step {
  const world = {
    as: serving.as,
    token: async (id: string) => {
      const { body } = await admin(`/instance/sys.auth.server/media/player/${id}/token`);
      return String(field(body, 'attestationData'));
    },
  };
  let current: Registered | undefined;
  return async () => {
    const asked =
      current === undefined || Math.random() < 0.2
        ? await register(world, `i${process.pid}x${known.instances.size}x${known.certificates.size}`)
        : await refresh(world, current);
    const { status, text: said } = asked.answer;
    if (status === 200 || status === 201) {
      current = asked;
      known.instances.set(asked.id, noteCertificate(known, asked.certificate));
    } else if (status !== 503) known.surprises.push(`instance: ${status} ${said}`);
  };
}

function joinTokens({ known }: World, admin: Caller): Step {
  let count = 0;
  return async () => {
    count += 1;
    const id = `waiting${known.joinTokens.size}x${count}`;
    const { status, text: said } = await admin(`/instance/sys.auth.server/media/player/${id}/token`);
    if (status === 200) known.joinTokens.add(id);
    else if (status !== 503) known.surprises.push(`join token: ${status} ${said}`);
    // Beside the others: few of them would come to their turn.
    await pause(50);
  };
}

/** Answers the serial number as the store writes it. */
function noteCertificate(known: Acknowledged, pem: string): string {
  const certificate = new X509Certificate(pem);
  const serial = certificate.serialNumber.toLowerCase();
  const print = Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
  known.certificates.set(serial, print);
  return serial;
}

function roleCertificates({ known }: World, call: Caller): Step {
  return async () => {
    const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
    const { status, body, text: said } = await call('/domain/catalog/role/reader/token', json({ csr }));
    if (status === 200 || status === 201) noteCertificate(known, String(field(body, 'token')));
    else if (status !== 503) known.surprises.push(`role certificate: ${status} ${said}`);
  };
}

function sshCertificates({ known }: World, call: Caller): Step {
  const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
  return async () => {
    const certRequestData = { principals: ['deploy'], publicKey };
    const certRequestMeta = { requestor: 'media.studio', certType: 'user' };
    const { status, body, text: said } = await call('/sshcert', json({ certRequestData, certRequestMeta }));
    if (status === 201) {
      const [first] = field(body, 'certificates') as readonly unknown[];
      const line = String(field(first, 'certificate'));
      const { serial } = readSshCertificate(Buffer.from(line.split(' ')[1] ?? '', 'base64'));
      known.sshSerials.add(serial.toString(16).padStart(16, '0'));
    } else if (status !== 503) known.surprises.push(`ssh: ${status} ${said}`);
  };
}

function rotateKeys({ known, run }: World): Step {
  return async () => {
    const printed = await run('keys', 'rotate', '--now', '--json');
    if (printed === undefined) return;
    for (const key of JSON.parse(printed) as readonly unknown[]) known.keys.add(String(field(key, 'kid')));
  };
}

function tokens({ known }: World, call: Caller): Step {
  return async () => {
    const asked = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
    const { status, body, text: said } = await call('/oauth2/token', asked);
    if (status !== 200) known.surprises.push(`token: ${status} ${said}`);
    const token = String(field(body, 'access_token'));
    known.tokens.push(token);
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString() || '{}');
    known.tokenIds.push(String(field(claims, 'jti')));
  };
}

/** Output of a command; undefined when it failed. */
async function command(
  { config }: Installation,
  args: readonly string[],
  children: Set<ChildProcess>,
): Promise<string | undefined> {
  const child = spawn(process.execPath, [signetScript, ...args, '--config', config], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.add(child);
  const [printed, status] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  children.delete(child);
  return status === 0 ? printed : undefined;
}
