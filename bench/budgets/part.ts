import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileDomain, decideInDomain } from '@signet/policy-engine/policy';
import { costs } from '@signet/server/budgets/costs';
import { benchRequest } from '../certificates/request.ts';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { processCpuNanoseconds } from '../measure/process-cpu.ts';
import { startProgram } from '../measure/program.ts';
import { formatSpread, markdownTable } from '../measure/report.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';
import { startLocalSts, stsEnvironment } from './local-sts.ts';

const main = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));
const policies = fileURLToPath(new URL('../../policies', import.meta.url));
const source = '--conditions=@signet/source';
const unlimited =
  'budgets: { principal: { workMsPerSecond: 1000000, burstMs: 10000000, inFlight: 1000000, share: 1 } }\n';

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: string;
  /** Expected status of the answer, so that the intended work is measured. */
  readonly status: number;
}

interface Bench {
  readonly rounds: number;
  readonly requests: number;
  /** Processor time of the server for each of `calls`, in microseconds, one value a round. */
  cost(call: Call | (() => Call), agent?: () => Agent): Promise<number[]>;
}

/** Cost of each kind of work on a server process, beside its value in `costs`. */
export async function budgetsPart({ folder, quick }: PartContext): Promise<PartReport> {
  const home = join(folder, 'signet');
  const config = join(home, 'signet.yaml');
  signet('init', home, '--port', '0', '--identity', 'media.studio', 'sys.auth.operator');
  signet('--config', config, 'apply', policies);
  const sts = await startLocalSts();
  appendFileSync(config, `${unlimited}cloud: { aws: { region: eu-central-1, endpoint: '${sts.endpoint}' } }\n`);
  const documents = join(folder, 'documents');
  mkdirSync(documents);
  writeFileSync(join(documents, 'big.yaml'), bigDocument());
  for (let index = 0; index < otherDomains; index += 1) {
    writeFileSync(join(documents, `other${index}.yaml`), `domain: other${index}\nroles:\n  admin:\n    members: []\n`);
  }
  signet('--config', config, 'apply', documents);
  const args = [source, main, '--config', config, 'serve', '--json'];
  const server = await startProgram(
    { name: 'signet', args, logFile: join(folder, 'log'), environment: stsEnvironment },
    1,
  );
  try {
    const measured = new Map([...measureEngine(quick), ...(await measureServer(home, server, quick))]);
    const rows = Object.entries(costs).map(([kind, counted]) => {
      const spread = measured.get(kind as keyof typeof costs);
      return [kind, String(counted), spread === undefined ? '–' : formatSpread(spread)];
    });
    const head = ['unit', 'counted, µs', 'measured, µs of processor time'];
    return { markdown: `## What the units of budgets cost\n\n${markdownTable(head, rows)}`, figures: [] };
  } finally {
    await server.stop();
    sts.close();
  }
}

type Measured = readonly [kind: keyof typeof costs, spread: Spread];

async function measureServer(
  home: string,
  { pid, baseUrl }: { readonly pid: number; readonly baseUrl: string },
  quick: boolean,
): Promise<Measured[]> {
  const asStudio = identity(home, 'media.studio');
  const studio = new Agent({ ...asStudio, keepAlive: true, maxSockets: 4 });
  const operator = new Agent({ ...identity(home, 'sys.auth.operator'), keepAlive: true, maxSockets: 4 });
  const bench: Bench = {
    rounds: quick ? 3 : 5,
    requests: quick ? 200 : 600,
    async cost(call, agent = () => studio) {
      const figures: number[] = [];
      for (let round = -1; round < bench.rounds; round += 1) {
        const before = processCpuNanoseconds(pid);
        for (let sent = 0; sent < bench.requests; sent += 4) {
          await Promise.all(
            Array.from({ length: 4 }, () => send(agent(), baseUrl, typeof call === 'function' ? call() : call)),
          );
        }
        // The first round warms up.
        if (round >= 0) figures.push((processCpuNanoseconds(pid) - before) / 1000 / bench.requests);
      }
      return figures;
    },
  };
  const plain = await bench.cost({ path: '/oauth2/keys', status: 200 });
  const beyond = (figures: readonly number[], units = 1) =>
    spreadOf(figures.map((figure, round) => (figure - (plain[round] ?? 0)) / units));
  const form = 'application/x-www-form-urlencoded';
  const json = 'application/json';
  const scope = 'grant_type=client_credentials&scope=catalog:domain';
  // Maximum of small values in such a body: parsing them is the most that a byte can cost.
  const list = `[${'1,'.repeat(999)}1]`;
  const body = `{"expiryTime":[${Array.from({ length: 9 }, () => list).join()}]}`;
  const refused = { method: 'POST', path: '/rolecert', type: json, body, status: 400 };
  const csr = JSON.stringify({ csr: roleRequest() });
  const byOperator = () => operator;
  const read = await bench.cost({ path: '^/management/v1/domains/catalog', status: 200 }, byOperator);
  const listed = await bench.cost({ path: '^/management/v1/domains?limit=1000', status: 200 });
  // All of the domain is read, and next to nothing answered.
  const rules = await bench.cost({ path: '^/management/v1/domains/big/policies', status: 200 }, byOperator);
  let members = 0;
  const addMember = (): Call => {
    members += 1;
    const path = `^/management/v1/domains/catalog/roles/reader/members/user.m${members}`;
    return { method: 'PUT', path, type: json, body: '{}', status: 201 };
  };
  const added = await bench.cost(addMember, byOperator);
  const bundle = await bench.cost({ path: '/domain/big/policy/signed', status: 200 });
  let sessions = 0;
  // A session of its own each time: credentials that are kept are not asked for again.
  const assumeRole = (): Call => {
    sessions += 1;
    return { path: `/domain/big/role/nightly/creds?externalId=session-${sessions}`, status: 200 };
  };
  const assumed = await bench.cost(assumeRole);
  const result: Measured[] = [
    ['request', spreadOf(plain)],
    ['handshake', beyond(await bench.cost({ path: '/oauth2/keys', status: 200 }, () => new Agent(asStudio)))],
    [
      'signature',
      beyond(await bench.cost({ method: 'POST', path: '/oauth2/token', type: form, body: scope, status: 200 })),
    ],
    ['bodyByte', beyond(await bench.cost(refused), body.length)],
    [
      'certificate',
      beyond(await bench.cost({ method: 'POST', path: '/rolecert', type: json, body: csr, status: 200 })),
    ],
    ['read', beyond(read)],
    ['change', beyond(added)],
    ['viewDecision', beyond(listed, otherDomains)],
    ['row', beyond(rules, bigRules)],
    ['answerByte', beyond(bundle, bundleBytes)],
    // Beside a read of the store, which is counted as well.
    ['cloudCall', spreadOf(assumed.map((figure, round) => figure - (read[round] ?? 0)))],
  ];
  studio.destroy();
  operator.destroy();
  return result;
}

/** A domain whose bundle is about this long. */
const bundleBytes = 450_000;
const bigRules = 2000;
/** Domains that the caller may not look at. */
const otherDomains = 500;

function bigDocument(): string {
  const rules = Array.from(
    { length: bigRules },
    (_, index) => `    - { effect: allow, action: read, resource: "object-${index}-${'x'.repeat(60)}", role: reader }`,
  );
  return `domain: big\nroles:\n  reader:\n    members: [media.studio]\n  admin:\n    members: [sys.auth.operator]\naccounts: { aws: "123456789012" }\npolicies:\n  cloud:\n    - { effect: allow, action: assume_aws_role, resource: nightly, role: reader }\n  rules:\n${rules.join('\n')}\n`;
}

function roleRequest(): string {
  return benchRequest('catalog:role.reader', undefined, 'spiffe://signet.local/ns/catalog/ra/reader');
}

/** Units that no request has alone: of cryptography and of the engine, in this process. */
function measureEngine(quick: boolean): Measured[] {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const text = Buffer.alloc(300, 'a');
  const signature = sign('sha256', text, privateKey);
  const assertions = Array.from({ length: 1000 }, (_, index) => ({
    effect: 'ALLOW' as const,
    role: 'evil:role.r',
    action: 'read',
    resource: `evil:*${'a'.repeat(40)}*${'a'.repeat(39)}b${index}?*`,
  }));
  const policy = compileDomain('evil', [{ name: 'p', assertions }]);
  const resource = `evil:${'a'.repeat(3000)}`;
  const rounds = quick ? 3 : 7;
  const measure = (times: number, work: () => unknown, units: () => number) =>
    spreadOf(
      Array.from({ length: rounds }, () => {
        const [from, before] = [units(), process.cpuUsage()];
        for (let time = 0; time < times; time += 1) work();
        const { user, system } = process.cpuUsage(before);
        return (user + system) / (units() - from);
      }),
    );
  let verified = 0;
  const verifying = () => {
    verified += Number(verify('sha256', text, publicKey, signature));
  };
  return [
    ['verification', measure(1000, verifying, () => verified)],
    [
      'comparison',
      measure(
        100,
        () => decideInDomain(policy, ['r'], 'read', resource),
        () => policy.work.spent,
      ),
    ],
  ];
}

function identity(home: string, name: string) {
  return {
    ca: readFileSync(join(home, 'ca', 'bundle.pem')),
    cert: readFileSync(join(home, 'identities', `${name}.cert.pem`)),
    key: readFileSync(join(home, 'identities', `${name}.key.pem`)),
  };
}

function send(agent: Agent, baseUrl: string, call: Call): Promise<void> {
  const base = new URL(baseUrl);
  const path = call.path.startsWith('^') ? call.path.slice(1) : `${base.pathname}${call.path}`;
  const headers = call.type === undefined ? {} : { 'content-type': call.type };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = request({ agent, host: base.hostname, port: base.port, method: call.method ?? 'GET', path, headers });
  sent.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => {
      if (response.statusCode === call.status) resolve();
      else reject(new Error(`${call.path}: ${response.statusCode} ${text.slice(0, 200)}`));
    });
  });
  sent.on('error', reject);
  sent.end(call.body);
  return promise;
}

function signet(...args: readonly string[]): void {
  execFileSync(process.execPath, [source, main, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}
