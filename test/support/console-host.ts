import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Call } from '@signet/server/console/api';
import { readAssets } from '@signet/server/console/assets';
import { openHost } from '@signet/server/console/host';
import { Session } from '@signet/server/console/session';
import type { ExecutionContext } from 'ava';
import { stubNow } from './console-stub.ts';

export interface HostOptions {
  readonly call: Call;
  readonly isLasting?: boolean;
  readonly me?: string;
  readonly port?: number;
}

export interface HostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Address to connect to. */
  readonly address?: string;
}

/** A console that runs, with a clock of its own. */
export async function startConsole(
  t: Pick<ExecutionContext, 'teardown'>,
  { call, isLasting = false, me = 'user.ann', port = 0 }: HostOptions,
) {
  const clock = { now: stubNow };
  let made = 0;
  // Secrets of the length of real ones.
  const random = () => `${'s'.repeat(42)}${made++}`;
  const session = new Session({ now: () => clock.now, random, isLasting });
  const faults: unknown[] = [];
  const host = await openHost(
    {
      session,
      startPage: '',
      call,
      me: () => me,
      server: 'signet.example:4443',
      now: () => clock.now,
      ...readAssets(),
      onFault: (error) => faults.push(error),
    },
    port,
  );
  t.teardown(() => host[Symbol.asyncDispose]());
  const ask = (path: string, asked: Asked = {}) => askConsole(host.origin, path, asked);
  /** The session's path, opened by its link. */
  const opened = async () => (await ask(`/open/${session.code}`)).headers.location ?? '';
  return { ...host, clock, session, faults, ask, opened };
}

/** One request on a connection of its own. */
export async function askConsole(
  origin: string,
  path: string,
  { method = 'GET', headers, body, address = '127.0.0.1' }: Asked = {},
): Promise<HostAnswer> {
  const { port, host } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<HostAnswer>();
  const sent = request(
    { host: address, port, path, method, agent: false, setHost: false, headers: { host, ...headers } },
    (answer) => {
      text(answer).then(
        (all) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: all }),
        reject,
      );
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return await promise;
}

export const formType = { 'content-type': 'application/x-www-form-urlencoded' };
