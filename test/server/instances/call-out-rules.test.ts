import { X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { parseAddressPolicy } from '@signet/server/instances/attestation/addresses';
import { type AttestationRequest, ProviderFailedError } from '@signet/server/instances/attestation/attestation';
import { type CallOutDeps, createCallOut } from '@signet/server/instances/attestation/call-out';
import test from 'ava';
import { type Answering, confirm, provider } from '#support/called-provider';
import { createPki } from '#support/pki';
import { wholeFile } from '#support/start-server';

/* Each rule of the call to a provider, without a server around it: over one, several refusals look alike. */

const file = wholeFile();
const pki = await createPki();
const { certificate, key } = await pki.identity('sys.auth.server');
let answering: Answering = confirm();
const prov = await provider(file, pki, 'prov.cloud', (call, response, request) => answering(call, response, request));
test.after.always(() => file.end());
const presented = new X509Certificate(prov.presented);

const name = parsePrincipalName('prov.cloud');
const request: AttestationRequest = {
  operation: 'register',
  provider: name,
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
  attestationData: 'x',
  altNames: [],
  clientAddress: '10.0.0.1',
};

interface Ask {
  readonly answer?: Answering;
  readonly endpoint?: string;
  readonly as?: string;
  readonly operation?: AttestationRequest['operation'];
  readonly credentialsFrom?: number;
  readonly allowed?: readonly string[];
  readonly deps?: Partial<CallOutDeps>;
}

function calling({ allowed = ['127.0.0.1', '::1'], deps }: Ask = {}) {
  return createCallOut({
    addresses: parseAddressPolicy(allowed),
    identity: async () => ({ certificate, key, roots: pki.bundle }),
    clock: systemClock,
    isRevoked: () => false,
    timeoutMs: 20_000,
    isOwnName: () => false,
    isShared: () => false,
    ...deps,
  });
}

/** `confirmed`, or the kind of the error with its message and reason. */
async function outcome(ask: Ask): Promise<string> {
  answering = ask.answer ?? confirm();
  const { endpoint = prov.url, as = name, operation = 'register', credentialsFrom = 0 } = ask;
  const asked = calling(ask).provider(parsePrincipalName(as), endpoint, credentialsFrom);
  try {
    await asked.attest({ ...request, provider: parsePrincipalName(as), operation });
    return 'confirmed';
  } catch (error) {
    if (error instanceof ForbiddenError) return `forbidden: ${error.message}`;
    if (!(error instanceof ProviderFailedError)) throw error;
    const { reason } = { reason: undefined, ...error.detail };
    return reason === undefined ? error.message : `${error.message}: ${String(reason)}`;
  }
}

const silent = 'provider `prov.cloud` does not answer';
const noAddress = 'the endpoint of provider `prov.cloud` is not an https address';
const notCalled = 'the endpoint of provider `prov.cloud` is not one that may be called';
const unread = 'provider `prov.cloud` gave an answer that cannot be read';
const noVouch = 'forbidden: provider `prov.cloud` does not vouch for the instance';
const other = 'forbidden: provider `prov.cloud` vouches for something else';
const status =
  (code: number, text = ''): Answering =>
  (_call, response) => {
    response.statusCode = code;
    response.end(text);
  };
const changed =
  (change: Readonly<Record<string, unknown>>): Answering =>
  ({ body }, response) =>
    void response.end(JSON.stringify({ ...Object(body), ...change }));
const { port } = new URL(prov.url);
const at = (host: string, before = '', after = '/attest') => `https://${before}${host}:${port}${after}`;
const issuedAt = presented.validFromDate.getTime();

const cases: readonly (readonly [note: string, ask: Ask, outcome: string])[] = [
  ['an answer for this instance', {}, 'confirmed'],
  ['an endpoint with the user name of older clients', { endpoint: at('127.0.0.1', 'athenz.client@') }, 'confirmed'],
  ['an endpoint that ends with a slash', { endpoint: at('127.0.0.1', '', '/attest/') }, 'confirmed'],
  // The endpoint.
  ['http', { endpoint: prov.url.replace('https', 'http') }, noAddress],
  ['no address', { endpoint: 'x' }, noAddress],
  ['a user name', { endpoint: at('127.0.0.1', 'joe@') }, noAddress],
  ['a password', { endpoint: at('127.0.0.1', ':secret@') }, noAddress],
  [
    'a password beside the user name of older clients',
    { endpoint: at('127.0.0.1', 'athenz.client:secret@') },
    noAddress,
  ],
  ['a query', { endpoint: `${prov.url}?a=b` }, noAddress],
  ['a fragment', { endpoint: `${prov.url}#a` }, noAddress],
  ['an address that is not listed', { allowed: ['127.0.0.2'] }, notCalled],
  ['an address in brackets that is not listed', { endpoint: at('[::1]'), allowed: ['127.0.0.1'] }, notCalled],
  [
    'a name, listed with its addresses',
    { endpoint: at('localhost'), allowed: ['localhost', '127.0.0.1', '::1'] },
    'confirmed',
  ],
  ['a name, listed without them', { endpoint: at('localhost'), allowed: ['localhost'] }, notCalled],
  // Who answers.
  [
    'the certificate of another service',
    { as: 'prov.other' },
    'provider `prov.other` does not answer: the certificate is of another service',
  ],
  [
    'a certificate that was revoked',
    { deps: { isRevoked: (serial) => serial === presented.serialNumber.toLowerCase() } },
    `${silent}: the certificate was revoked`,
  ],
  [
    'another certificate was revoked',
    { deps: { isRevoked: (serial) => serial === presented.serialNumber.toUpperCase() } },
    'confirmed',
  ],
  ['a certificate of the time since', { credentialsFrom: issuedAt }, 'confirmed'],
  [
    'a certificate of before',
    { credentialsFrom: systemClock.now() + 86_400_000 },
    `${silent}: the certificate is of a deleted service of the same name`,
  ],
  [
    'no certificate to call with',
    { deps: { identity: () => Promise.reject(new Error('no identity')) } },
    `${silent}: no identity`,
  ],
  // What is answered.
  ['a refusal', { answer: status(403) }, noVouch],
  ['a refusal with words', { answer: status(403, '{"message":" not\\u0007here\\n "}') }, `${noVouch}: not here`],
  [
    'a refusal with many words',
    { answer: status(403, JSON.stringify({ message: 'x'.repeat(300) })) },
    `${noVouch}: ${'x'.repeat(200)}`,
  ],
  ['another success', { answer: status(201, '{}') }, noVouch],
  ['a status below the redirects', { answer: status(299) }, noVouch],
  ['the first redirect', { answer: status(300) }, `${silent}: redirect`],
  ['the last redirect', { answer: status(399) }, `${silent}: redirect`],
  ['the first refusal', { answer: status(400) }, noVouch],
  ['a fault of the provider', { answer: status(500) }, noVouch],
  ['no JSON', { answer: status(200, 'yes') }, unread],
  ['JSON without the names', { answer: status(200, '{}') }, unread],
  ['another provider', { answer: changed({ provider: 'prov.other' }) }, other],
  ['another domain', { answer: changed({ domain: 'other' }) }, other],
  ['another service', { answer: changed({ service: 'other' }) }, other],
  ['an answer without attributes', { answer: changed({ attributes: null }) }, 'confirmed'],
  ['an answer that is too long', { answer: status(200, 'x'.repeat(65_537)) }, `${silent}: the answer is too long`],
];
for (const [note, ask, expected] of cases) {
  test.serial(`a provider is called: ${note}`, async (t) => t.is(await outcome(ask), expected));
}

test.serial('registrations and refreshes go to their own paths', async (t) => {
  prov.calls.splice(0);
  await outcome({});
  await outcome({ operation: 'refresh' });
  t.deepEqual(
    prov.calls.map(({ path }) => path),
    ['/attest/instance', '/attest/refresh'],
  );
});

test.serial('a refusal is an answer, and a fault is none: five of them open the circuit', async (t) => {
  const ask = async (called: ReturnType<typeof calling>, answer: Answering) => {
    answering = answer;
    return called
      .provider(name, prov.url, 0)
      .attest(request)
      .then(
        () => 'confirmed',
        (error: ForbiddenError | ProviderFailedError) => JSON.stringify(error.detail ?? error.message),
      );
  };
  const open = '{"circuit":"open"}';
  const [refusing, failing] = [calling(), calling()];
  for (let i = 0; i < 6; i += 1) t.not(await ask(refusing, status(403)), open);
  t.is(await ask(refusing, confirm()), 'confirmed');
  for (let i = 0; i < 5; i += 1) t.not(await ask(failing, status(302)), open);
  t.is(await ask(failing, confirm()), open);
});

test('a name is looked up once at a time, whoever asks for it', async (t) => {
  answering = confirm();
  const asked: string[] = [];
  const found = Promise.withResolvers<readonly string[]>();
  const lookUp = (host: string) => {
    asked.push(host);
    return host === 'slow.cloud' ? found.promise : Promise.resolve(['127.0.0.1']);
  };
  const callOut = calling({ deps: { lookUp } });
  const attest = (host: string) =>
    callOut.provider(name, at(host), 0).attest({ ...request, clientAddress: '10.0.0.2' });
  const slow = Promise.all([attest('slow.cloud'), attest('slow.cloud'), attest('slow.cloud')]);
  await t.notThrowsAsync(attest('quick.cloud'), 'another name is found meanwhile');
  t.deepEqual(asked, ['slow.cloud', 'quick.cloud']);
  found.resolve(['127.0.0.1']);
  await t.notThrowsAsync(slow);
  await t.notThrowsAsync(attest('slow.cloud'));
  t.deepEqual(asked, ['slow.cloud', 'quick.cloud', 'slow.cloud'], 'what was found is not kept');
});
