import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setInterval } from 'node:timers/promises';
import { checkIdentity, SignetClientError } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { Command, Option } from 'commander';
import { processEnvironment } from '../config/env.ts';
import type { Call } from '../console/api.ts';
import { readAssets } from '../console/assets.ts';
import { openHost } from '../console/host.ts';
import { pathTo } from '../console/page.ts';
import { pages } from '../console/pages.ts';
import { Session } from '../console/session.ts';
import { readClientCertificate } from '../principals/principal.ts';
import { type ConnectionOptions, clientSettings, connectionOptions } from './connection.ts';
import { browserCommand, openBrowser } from './login/open-browser.ts';
import { keepManagement } from './manage/management-client.ts';
import { parsePort } from './parse-port.ts';
import { action, describeError, print, UsageError, warn } from './run.ts';
import { stopSignal } from './stop-signal.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly port: number;
  readonly browser: boolean;
  /** For `signet dev`: the link and the session last, and another port is used where this one is taken. */
  readonly lasting?: boolean;
  readonly json?: boolean;
}

/** `signet console`: the pages of the console on loopback, as a client of the management API. */
export function consoleCommand(): Command {
  const command = new Command('console')
    .description('open pages in the browser: requests, who may do what and why, certificates, audit log')
    .argument('[page]', `first page: ${[...pages.keys()].filter(Boolean).join(', ')}, or the number of a request`);
  return connectionOptions(command)
    .option('--port <number>', 'port on loopback; 0 selects a free port', parsePort, 4445)
    .option('--no-browser', 'print the link only')
    .option('--json', 'print one line of JSON')
    .addOption(new Option('--lasting').hideHelp())
    .action(action(runConsole));
}

async function runConsole(page: string | undefined, options: ConsoleOptions): Promise<void> {
  const startPage = parsePage(page ?? '');
  using stop = stopSignal();
  using management = keepManagement(options);
  const settings = clientSettings(options);
  checkIdentity(settings, systemClock.now());
  const now = () => systemClock.now();
  const random = () => randomBytes(32).toString('base64url');
  const session = new Session({ now, random, isLasting: options.lasting === true });
  const me = () => principalOf(options);
  const deps = {
    session,
    startPage,
    me,
    call: callOf(options, management.call),
    server: new URL(String([settings.baseUrl].flat()[0])).host,
    now,
    ...readAssets(),
    onFault: (error: unknown) => warn(describeError(error)),
  };
  await using host = await open(deps, options);
  announce(`${host.origin}/open/${session.code}`, me(), options);
  await ended(session, stop.signal);
}

async function open(deps: Parameters<typeof openHost>[0], { port, lasting }: ConsoleOptions) {
  try {
    return await openHost(deps, port);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    if (lasting === true) return await openHost(deps, 0);
    throw new UsageError(`--port: ${port} is in use: select another one, or 0 for a free one`, { cause: error });
  }
}

/** A page by its name, with parameters behind `?`; a number is a request. Throws `UsageError`. */
function parsePage(text: string): string {
  if (/^\d{1,15}$/.test(text)) return pathTo('request', { id: text });
  const [name = '', ...query] = text.split('?');
  if (!pages.has(name))
    throw new UsageError(`unknown page \`${text}\`; known: ${[...pages.keys()].filter(Boolean).join(', ')}`);
  return name === '' ? '' : pathTo(name, Object.fromEntries(new URLSearchParams(query.join('?'))));
}

/** The principal of the client certificate. Throws `UsageError`. */
function principalOf(options: ConnectionOptions): string {
  const { certificate } = clientSettings(options);
  const read = readClientCertificate(new X509Certificate(readFileSync(certificate)));
  if (typeof read === 'string') throw new UsageError('the client certificate names no principal');
  return read.principal.name;
}

const tlsAlert = /^ERR_SSL_.*ALERT.*(?:CERTIFICATE|UNKNOWN_CA)/;

/** Failures before an answer are answers for the pages: an expired certificate is 401, a server that is not there 503. */
function callOf(options: ConnectionOptions, call: Call): Call {
  return async (asked) => {
    try {
      checkIdentity(clientSettings(options), systemClock.now());
      return await call(asked);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      const isIdentity = error instanceof SignetClientError || tlsAlert.test(code);
      return { status: isIdentity ? 401 : 503, body: { message: describeError(error) } };
    }
  };
}

function announce(link: string, me: string, { json, browser, lasting }: ConsoleOptions): void {
  if (json === true) {
    print({ url: link, principal: me }, true);
    return;
  }
  const until = lasting === true ? '' : ', once and within a minute';
  process.stdout.write(`Console of ${me}. Open this link${until}:\n${link}\nCtrl-C ends the console.\n`);
  const command = browser && process.stdout.isTTY ? browserCommand(process.platform, processEnvironment()) : undefined;
  if (command !== undefined) openBrowser(command, link);
}

const checkMs = 30_000;

/** Waits until the console is asked to end, or its session is over. */
async function ended(session: Session, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of setInterval(checkMs, undefined, { signal })) if (session.isOver()) return;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
