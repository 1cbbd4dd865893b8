import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { checkServerIdentity as isServer } from 'node:tls';
import { type SignetClient as Client, createPrincipalTokenSource, SignetClientError } from '@signet/client';
import { readJsonObject } from '@signet/example-provider/json-body';
import { temporaryFolder } from '#support/temp';
import { makePki } from '../../client/support/pki.ts';
import { startTlsServer } from '../../client/support/tls-server.ts';
import { elsewhere, internals, maximum, minimum, type Row } from '../row.ts';

const failed = (retryAfterSeconds?: number) =>
  new SignetClientError('server-error', 'no', {
    answer: { status: 503, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  });

interface BackOff {
  backOff(attempt: number, error: SignetClientError, random: () => number): number | undefined;
}

/** The attempt after which doubling from `first` comes to this many milliseconds. */
const doublings = (ms: number, first: number): number => Math.log2(ms / first);

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export const clientRows: readonly Row[] = [
  elsewhere(
    'client/src/access.ts',
    'maxQuestions',
    'client/operations.test.ts',
    'asks many questions, a request for each hundred',
  ),
  maximum('client/src/bundles.ts', 'maxDomains', async (count) => {
    const { Bundles } = await internals<{ Bundles: new (http: object, maxBytes: number) => Client['bundles'] }>(
      'client/src/bundles.ts',
    );
    const domains = Array.from({ length: count }, (_, index) => `d${index}`);
    const body = Buffer.from(JSON.stringify({ reader: 'a.b', complete: true, domains }));
    const answer = await new Bundles({ send: async () => ({ status: 200, headers: {}, body }) }, 1).domains();
    return answer.kind === 'changed' && answer.domains.length === count;
  }),
  maximum('client/src/http/answer-error.ts', 'maxText', async (size) => {
    const { answerError } = await internals<{
      answerError(status: number, headers: object, body: Uint8Array, now: number): SignetClientError;
    }>('client/src/http/answer-error.ts');
    const body = Buffer.from(JSON.stringify({ message: 'x'.repeat(size) }));
    return answerError(400, {}, body, 0).serverMessage?.length === size;
  }),
  maximum('client/src/http/back-off.ts', 'longestMs', async (ms) => {
    const { backOff } = await internals<BackOff>('client/src/http/back-off.ts');
    return Math.round(backOff(doublings(ms, 100), failed(), () => 1) ?? 0) === ms;
  }),
  maximum('client/src/http/back-off.ts', 'longestRetryAfterSeconds', async (seconds) => {
    const { backOff } = await internals<BackOff>('client/src/http/back-off.ts');
    return backOff(0, failed(seconds), () => 0) === seconds * 1000;
  }),
  maximum('client/src/run-steps.ts', 'maxSleepMs', async (ms) => {
    const { sleepMs } = await internals<{ sleepMs(nextAt: number, now: number): number }>('client/src/run-steps.ts');
    return sleepMs(1000 + ms, 1000) === ms;
  }),
  maximum('client/src/identity/post-json.ts', 'maxAnswerBytes', async (size, t) => {
    const { postJson } = await internals<{
      postJson(peer: object, path: readonly string[], body: unknown): Promise<{ text: string }>;
    }>('client/src/identity/post-json.ts');
    const pki = await makePki(temporaryFolder(t));
    const body = `{"text":"${'x'.repeat(size - 11)}"}`;
    const { baseUrl } = await startTlsServer(t, {
      identity: await pki.issue('sys.auth.server', ['localhost']),
      ca: pki.ca,
      respond: (_, response) => void response.setHeader('content-type', 'application/json').end(body),
    });
    const { cert: certificate, key } = await pki.issue('media.player');
    const peer = { baseUrl, caBundle: pki.ca, identity: { certificate, key }, timeoutMs: 60_000, isServer };
    return (await postJson(peer, ['x'], {})).text.length === size - 11;
  }),
  maximum('client/src/identity/renewal.ts', 'maxRetryMs', async (ms) => {
    const { retryDelay } = await internals<{ retryDelay(failures: number, left: undefined, random: number): number }>(
      'client/src/identity/renewal.ts',
    );
    return retryDelay(1 + doublings(ms, 10_000), undefined, 1) === ms;
  }),
  minimum('client/src/identity/renewal.ts', 'minPauseMs', async (ms) => {
    const { retryDelay } = await internals<{ retryDelay(failures: number, left: number, random: number): number }>(
      'client/src/identity/renewal.ts',
    );
    return retryDelay(1, 1, 0) <= ms;
  }),
  maximum('client/src/key-resolver.ts', 'longestAgeMs', async (ms) => {
    const { createKeyResolver } = await internals<{
      createKeyResolver(deps: object): (header: { kid: string; alg: string }) => Promise<unknown>;
    }>('client/src/key-resolver.ts');
    const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
    const key = { kty: 'EC', crv: 'P-256', kid: 'k', alg: 'ES256', use: 'sig', x, y };
    let [asked, now] = [0, 0];
    const fetchKeys = async () => {
      asked += 1;
      return { keys: [key], maxAgeSeconds: ms / 1000 };
    };
    const resolve = createKeyResolver({ fetchKeys, clock: { now: () => now } });
    await resolve({ kid: 'k', alg: 'ES256' });
    now = ms - 1;
    await resolve({ kid: 'k', alg: 'ES256' });
    return asked === 1;
  }),
  maximum('client/src/tokens/principal-token.ts', 'maxLifetimeSeconds', (lifetimeSeconds) =>
    createPrincipalTokenSource({ domain: 'media', service: 'player', privateKey, keyId: 'k', lifetimeSeconds }).get(),
  ),
  maximum('client/src/tokens/token-file.ts', 'maxBytes', async (size, t) => {
    const { TokenFile } = await internals<{
      TokenFile: new (path: string) => { read(now: number): Promise<ReadonlyMap<string, unknown>> };
    }>('client/src/tokens/token-file.ts');
    const path = join(temporaryFolder(t), 'tokens');
    writeFileSync(path, Buffer.alloc(size, ' '));
    chmodSync(path, 0o600);
    await new TokenFile(path).read(0);
  }),
  maximum('client/src/tokens/token-file.ts', 'maxLifeMs', async (ms, t) => {
    const { TokenFile } = await internals<{
      TokenFile: new (path: string) => { read(now: number): Promise<ReadonlyMap<string, unknown>> };
    }>('client/src/tokens/token-file.ts');
    const path = join(temporaryFolder(t), 'tokens');
    const token = { accessToken: 'a', scope: [], expiresAt: 1000 + ms };
    writeFileSync(path, JSON.stringify({ version: 1, tokens: { k: { lifetimeMs: 2 * ms, token } } }));
    chmodSync(path, 0o600);
    return (await new TokenFile(path).read(1000)).has('k');
  }),
  maximum('example-provider/src/json-body.ts', 'maxBytes', (size) =>
    readJsonObject(Readable.from([Buffer.from(`{"a":"${'x'.repeat(size - 8)}"}`)]) as never),
  ),
];
