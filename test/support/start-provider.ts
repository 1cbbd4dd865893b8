import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createProvider } from '@signet/example-provider/provider';
import type { AccessQuestion } from '@signet/example-provider/require-access/ask-server';
import { listen } from '@signet/example-provider/tls-server';
import { systemClock } from '@signet/policy-engine/clock';
import { gracefulServer } from '@signet/policy-engine/http';
import { parseDomainName } from '@signet/policy-engine/names';
import type { PolicyInput } from '@signet/policy-engine/policy';
import { TestAuthority, type TestCertificate, TestClock } from '@signet/policy-engine/testing';
import { createLogger } from '@signet/server/logger';
import type { ExecutionContext } from 'ava';
import { temporaryFolder } from './temp.ts';

export interface ProviderAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface ProviderRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  readonly as?: TestCertificate;
}

/** The example provider over real TLS, with policy in memory and a token server that is a function. It ends with the test. */
export interface TestProvider {
  readonly url: string;
  readonly authority: TestAuthority;
  /** Queries to the token server. */
  readonly questions: readonly AccessQuestion[];
  /** The log, one parsed line an entry. */
  readonly log: readonly Record<string, unknown>[];
  send(request: ProviderRequest): Promise<ProviderAnswer>;
}

export async function startProvider(
  t: ExecutionContext,
  answer: (question: AccessQuestion) => boolean | Error = () => true,
  policies: Readonly<Record<string, readonly PolicyInput[]>> = { catalog: rules },
): Promise<TestProvider> {
  const authority = await TestAuthority.create({ clock: new TestClock(systemClock.now()) });
  const folder = temporaryFolder(t);
  const own = authority.certificate('catalog.api');
  const tls = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientCa: join(folder, 'ca.pem') };
  writeFileSync(tls.certificate, own.pem);
  writeFileSync(tls.key, own.key);
  writeFileSync(tls.clientCa, authority.ca.pem);
  const questions: AccessQuestion[] = [];
  const log: Record<string, unknown>[] = [];
  const server = createProvider({
    config: { domain: parseDomainName('catalog'), tls },
    engine: authority.engine(policies, { domains: ['catalog'] }),
    ask: async (question) => {
      questions.push(question);
      const granted = answer(question);
      if (granted instanceof Error) throw granted;
      return { granted };
    },
    clock: authority.clock,
    logger: createLogger('debug', { write: (line: string) => void log.push(JSON.parse(line)) }),
  });
  const graceful = gracefulServer(server);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  t.teardown(() => graceful.close({ idleMs: 0, deadlineMs: 100 }));
  return { url, authority, questions, log, send: (each) => send(url, authority, each) };
}

const rules = [
  {
    name: 'samples',
    assertions: [
      { role: 'reader', action: 'read', resource: 'movie' },
      { role: 'reader', action: 'read', resource: 'series' },
      { role: 'editor', action: 'write', resource: '*' },
      { role: 'banned', action: '*', resource: '*', effect: 'DENY' },
    ],
  },
] as const;

function send(url: string, authority: TestAuthority, each: ProviderRequest): Promise<ProviderAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ProviderAnswer>();
  const { port, hostname } = new URL(url);
  const identity = each.as === undefined ? {} : { cert: each.as.pem, key: each.as.key };
  const { method = 'GET', path, headers = {} } = each;
  const tls = { ca: authority.ca.pem, servername: 'localhost', agent: false as const, ...identity };
  const sent = request({ ...tls, hostname, port, method, path, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
  });
  sent.on('error', reject);
  sent.end(each.body);
  return promise;
}
