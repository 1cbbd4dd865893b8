import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { parseStrictJson } from '@signet/policy-engine/json';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { compileConditions } from '@signet/policy-engine/policy';
import { exactKeyId } from '@signet/server/base/registered-key';
import { shortLine, shortText } from '@signet/server/base/short-text';
import { parsePolicyVersions } from '@signet/server/bundles/select-policies';
import { FileReader } from '@signet/server/cli/config/file-reader';
import { runShell } from '@signet/server/cli/identity/run-shell';
import { planMarkdown } from '@signet/server/cli/plan/plan-markdown';
import { parseCredentialsRequest } from '@signet/server/cloud/credentials-request';
import { roleSession } from '@signet/server/cloud/role-session';
import { countRefusedCredentials } from '@signet/server/compose/refused-credentials';
import { InvalidDocumentError, plainFailure, TooManyRequestsError, UnauthenticatedError } from '@signet/server/errors';
import { countConnectionFailures } from '@signet/server/http/connection-failures';
import { lingeringAnswer } from '@signet/server/http/lingering-answer';
import { bodyLimits } from '@signet/server/http/management/index';
import { answerOutcome, pageRequestOf } from '@signet/server/http/management/request';
import { parseParameters } from '@signet/server/http/parameters';
import { bundleDomainsRoute } from '@signet/server/http/routes/bundle-domains';
import { contextClasses } from '@signet/server/impact/contexts';
import { type AttestationRequest, ProviderFailedError } from '@signet/server/instances/attestation/attestation';
import { createCallOut, readBounded } from '@signet/server/instances/attestation/call-out';
import { confirmationSchema } from '@signet/server/instances/attestation/confirmation';
import { joinTokenProvider } from '@signet/server/instances/attestation/join-token';
import { signedJwtProvider } from '@signet/server/instances/attestation/signed-jwt';
import { foreignRefreshAlarm } from '@signet/server/instances/foreign-refresh';
import { expiryTimeSchema } from '@signet/server/instances/instance-request';
import { readSealingKey } from '@signet/server/keys/sealing-key';
import { parseZmsKeys } from '@signet/server/management/athenz/verify-export';
import { parseSerial } from '@signet/server/management/certificates';
import { assertionWarnings } from '@signet/server/management/documents/assertion-warnings';
import { arePlainConditions, conditionsSchema } from '@signet/server/management/documents/conditions';
import { jsonSource } from '@signet/server/management/documents/json-source';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { RoleNames } from '@signet/server/management/documents/role-names';
import { roleWarnings } from '@signet/server/management/documents/role-warnings';
import { parseYaml } from '@signet/server/management/documents/yaml-source';
import { fieldChanges } from '@signet/server/management/field-changes';
import { checkUnused, reservationOf } from '@signet/server/management/name-safeguards';
import { readFiles } from '@signet/server/management/plan-files';
import { parsePublicKey } from '@signet/server/management/public-key';
import { parseReason } from '@signet/server/management/require-reason';
import { defaultsOf } from '@signet/server/model/fields';
import { recordFields } from '@signet/server/model/record-fields';
import type { StoreState } from '@signet/server/model/store';
import { athenzRequests } from '@signet/server/oauth/request-rules';
import { parseScope } from '@signet/server/oauth/scope';
import { verifyPrincipalToken } from '@signet/server/principals/principal-token';
import { RolePatterns } from '@signet/server/roles/role-patterns';
import { LayeredMap } from '@signet/server/snapshot/layered-map';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import type { ExecutionContext } from 'ava';
import { type DomainSketch, domainContent } from '#support/domains';
import { plainSnapshot } from '#support/plain-domains';
import { planOf, problemOf } from '#support/plans';
import { saveDomain } from '#support/save-domain';
import { startServer } from '#support/start-server';
import { changesAfter } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';
import { elsewhere, inner, maximum, minimum, type Row, refusal, same } from '../row.ts';

const clock = { now: () => 1_000_000 };

const list = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Context of a request of `media.boss` with this query. */
function context(querystring: string): never {
  const principal = { kind: 'identity', name: parsePrincipalName('media.boss') };
  return { querystring, path: '/x', get: () => '', req: { headers: {} }, state: { principal } } as never;
}

/** True if an answer goes on reading after this. */
async function readsOn(act: (body: PassThrough) => unknown): Promise<boolean> {
  const body = new PassThrough();
  const answer = lingeringAnswer('no', body as never);
  let ended = false;
  answer.on('end', () => {
    ended = true;
  });
  answer.resume();
  while (body.listenerCount('data') === 0) await turn();
  await act(body);
  for (let i = 0; i < 100 && !ended; i += 1) await turn();
  const goesOn = !ended;
  body.destroy();
  while (!ended) await turn();
  return goesOn;
}

/** True if an answer goes on reading for `ms`, when its input comes in `pieces`. */
async function readsOnFor(ms: number, pieces: number): Promise<boolean> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    return await readsOn(async (body) => {
      for (let piece = 1; piece < pieces; piece += 1) {
        mock.timers.tick(Math.floor(ms / pieces));
        body.write('x');
        await turn();
      }
      mock.timers.tick(ms - Math.floor(ms / pieces) * (pieces - 1) - 1);
    });
  } finally {
    mock.timers.reset();
  }
}

const attestation = {
  operation: 'register',
  provider: parsePrincipalName('prov.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i'),
  attestationData: '',
  altNames: [],
  clientAddress: '127.0.0.1',
} as const;

/** Refusal of the last one of `calls` at once. */
async function lastOf(calls: number, requestOf: (index: number) => Partial<AttestationRequest>): Promise<unknown> {
  const callOut = createCallOut({
    addresses: { allows: () => false } as never,
    identity: () => new Promise(() => undefined),
    clock: { now: () => 0 },
    timeoutMs: 1000,
    isOwnName: () => false,
    isRevoked: () => false,
    isShared: () => false,
  });
  const provider = callOut.provider(parsePrincipalName('prov.cloud'), 'https://prov.test:1/', 0);
  const attempts = Array.from({ length: calls }, (_, index) =>
    provider.attest({ ...attestation, ...requestOf(index) }).catch((error: unknown) => error),
  );
  return await attempts.at(-1);
}

/** Refusal of a principal token after a change of its text. */
function refusalOfToken(change: (token: string) => string): string {
  const token = change('v=S1;d=media;n=player;t=1000;e=1001;k=0;s=AAAA');
  try {
    verifyPrincipalToken(token, { snapshot: plainSnapshot([], 0), findKeyId: exactKeyId }, 1_000_000);
    return '';
  } catch (error) {
    return error instanceof UnauthenticatedError ? JSON.stringify(error.detail) : String(error);
  }
}

/** True if the changes of domain `a` are told one by one after these saves, of which the first is known already. */
async function toldOneByOne(t: ExecutionContext, saves: readonly DomainSketch[]): Promise<boolean> {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  let known: StoreState | undefined;
  for (const [index, sketch] of saves.entries()) {
    await store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('a', sketch)));
    if (index === 0) known = await store.state();
  }
  return known !== undefined && (await changesAfter(store, known, () => true))?.updates !== undefined;
}

/** True if a change of `rows` rows is followed: its head, and for each new domain one and those of its members. */
async function followsRows(t: ExecutionContext, rows: number): Promise<boolean> {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  await store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('first')));
  const known = await store.state();
  await store.change({ actor: 'test' }, async (change) => {
    for (let left = rows - 1; left > 0; left -= 900) {
      const roles = { r: list(Math.min(left, 900) - 1, 'm.s') };
      await saveDomain(change, domainContent(`d${left}`, { roles }));
    }
  });
  return (await changesAfter(store, known)) !== undefined;
}

/** True if the header of an answer has all of these warnings. */
function toldWhole(warnings: readonly string[]): boolean {
  const told = new Map<string, string>();
  const ctx = { set: (name: string, value: string) => told.set(name, value) };
  void answerOutcome(ctx as never, { kind: 'changed', warnings, view: undefined, created: false } as never);
  return told.get('Signet-Warning') === warnings.join('; ');
}

export const serverRows: readonly Row[] = [
  maximum('server/src/bundles/select-policies.ts', 'maxSelections', (count) =>
    parsePolicyVersions('d', Object.fromEntries(list(count, 'p').map((name) => [name, '0']))),
  ),
  maximum('server/src/cli/identity/run-shell.ts', 'maxOutputBytes', async (size) => {
    const { output } = await runShell(`head -c ${size} /dev/zero | tr '\\0' x`, { environment: {}, timeoutMs: 60_000 });
    return output.length === size;
  }),
  maximum('server/src/http/routes/bundle-domains.ts', 'maxBundleDomains', (count) => {
    const named = Array.from({ length: count }, (_, index) => parseDomainName(`d${index}`));
    const reader = parsePrincipalName('media.boss');
    const answered = {
      ...Object(context('')),
      set: () => undefined,
      res: { setHeader: () => undefined },
      response: {},
    };
    bundleDomainsRoute(() => ({ bundleDomains: new Map([[reader, named]]) }) as never)(
      answered as never,
      async () => undefined,
    );
    return JSON.parse(Object(answered.response).body).complete === true;
  }),
  maximum('server/src/http/transport-rules.ts', 'maxHeaderLines', async (lines, t) => {
    const server = await startServer(t);
    const headers = ['Host', new URL(server.baseUrl).host, 'Connection', 'close'];
    for (let line = 2; line < lines; line += 1) headers.push('X', 'y');
    const url = new URL('/healthz', server.baseUrl);
    const status = await new Promise((resolve, reject) => {
      const sent = httpsRequest(url, { headers, ca: server.pki.bundle }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end();
    });
    return status !== 431;
  }),
  maximum('server/src/http/lingering-answer.ts', 'mostBytes', (bytes) =>
    readsOn((body) => body.write(Buffer.alloc(bytes))),
  ),
  maximum('server/src/http/lingering-answer.ts', 'mostPauseMs', (ms) => readsOnFor(ms, 1)),
  // Never silent for as long as would end it.
  maximum('server/src/http/lingering-answer.ts', 'mostMs', (ms) => readsOnFor(ms, 20)),
  maximum('server/src/http/management/index.ts', 'maxBodyValues', (count) =>
    parseStrictJson(`[${list(count - 1, '').map(() => '1')}]`, {
      ...bodyLimits({ members: 100_000 } as never),
      items: count,
    }),
  ),
  maximum('server/src/http/management/index.ts', 'maxBodyNames', (count) =>
    parseStrictJson(
      JSON.stringify(Object.fromEntries(list(count, 'n').map((name) => [name, 1]))),
      bodyLimits({} as never),
    ),
  ),
  maximum('server/src/keys/sealing-key.ts', 'maxFileBytes', (size, t) => {
    const file = join(temporaryFolder(t), 'sealing.key');
    writeFileSync(file, `${Buffer.alloc(32).toString('base64')}\r\n`.padEnd(size, '\n'), { mode: 0o600 });
    return readSealingKey(file);
  }),
  maximum('server/src/cli/config/file-reader.ts', 'maxFileBytes', (size, t) => {
    const file = join(temporaryFolder(t), 'bundle.pem');
    writeFileSync(file, Buffer.alloc(size, 'x'));
    return new FileReader().read({ option: 'tls.clientCa', file }, ({ length }) => length === size) === true;
  }),
  maximum('server/src/http/management/request.ts', 'maxWarnings', (count) => toldWhole(list(count, 'w'))),
  maximum('server/src/http/management/request.ts', 'maxWarningLength', (length) => toldWhole(['w'.repeat(length)])),
  maximum(
    'server/src/http/management/request.ts',
    'maxLimit',
    (limit) => pageRequestOf(context(''), new Map([['limit', String(limit)]])).limit === limit,
  ),
  maximum('server/src/http/parameters.ts', 'maxParameters', (count) =>
    parseParameters(
      list(count, 'p')
        .map((name) => `${name}=1`)
        .join('&'),
      'query',
    ),
  ),
  maximum('server/src/impact/contexts.ts', 'maxClasses', (classes) => {
    const value = list(classes - 2, 'i').join();
    const conditions = compileConditions({
      conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value } } }],
    });
    return contextClasses([{ conditions }] as never).length === classes;
  }),
  maximum('server/src/instances/attestation/call-out.ts', 'maxAnswerBytes', async (size) => {
    return (await readBounded(new PassThrough().end(Buffer.alloc(size, 'x')))).length === size;
  }),
  maximum('server/src/http/connection-failures.ts', 'maxKinds', (count) => {
    const said: { readonly connections: Record<string, number> }[] = [];
    const failures = countConnectionFailures({ warn: (line: (typeof said)[number]) => void said.push(line) });
    failures.count('first');
    for (let kind = 0; kind < count; kind += 1) failures.count(`kind ${kind}`);
    failures.close();
    return said[1]?.connections['other'] === undefined;
  }),
  maximum('server/src/errors.ts', 'maxRelayedProblems', (count) => {
    const problems = list(count, 'p').map((message) => ({ file: 'x.yaml', line: 1, column: 1, field: '', message }));
    return plainFailure(new InvalidDocumentError(problems))?.problems?.length === count;
  }),
  maximum('server/src/management/plan-files.ts', 'maxFiles', (count) =>
    readFiles(JSON.stringify({ files: list(count, 'f').map((name) => ({ name: `${name}.cases.yaml`, text: '[]' })) })),
  ),
  elsewhere(
    'server/src/http/management/member-list-routes.ts',
    'maxDetailed',
    'server/management/api.test.ts',
    'roles come with their fields and first members, all of them or one',
  ),
  elsewhere(
    'server/src/management/plan-documents.ts',
    'maxListedChanges',
    'server/management/plan-job.test.ts',
    'a plan lists ten thousand changes and a thousand warnings, and counts the changes',
  ),
  elsewhere(
    'server/src/management/plan-documents.ts',
    'maxListedProblems',
    'server/management/plan-job.test.ts',
    'a plan lists ten thousand changes and a thousand warnings, and counts the changes',
  ),
  elsewhere(
    'server/src/management/requests/ask-for.ts',
    'maxTries',
    'server/management/requests/moving-store.test.ts',
    'a request and an approval begin again three times when what they read changes without another effect',
  ),
  elsewhere(
    'server/src/management/requests/decide.ts',
    'maxTries',
    'server/management/requests/moving-store.test.ts',
    'a request and an approval begin again three times when what they read changes without another effect',
  ),
  elsewhere(
    'server/src/management/requests/ask-for.ts',
    'maxContentBytes',
    'server/management/requests/past-approvals.test.ts',
    'requests of others are not there, and bad parameters are refused by name',
  ),
  elsewhere(
    'server/src/management/requests/break-glass.ts',
    'maxListed',
    'server/management/requests/approvals.test.ts',
    'break-glass takes its right and a reason, is bounded, loud, and waits for a review',
  ),
  elsewhere(
    'server/src/http/management/request-routes.ts',
    'maxLooks',
    'server/management/requests/past-approvals.test.ts',
    'one page of the list looks at 2,000 requests, and the next goes on',
  ),
  maximum('server/src/model/record-fields.ts', 'maxRequestSeconds', (seconds) => {
    return recordFields.role.requestSeconds.schema.safeParse(seconds).success;
  }),
  elsewhere(
    'server/src/management/apply-documents.ts',
    'maxTries',
    'server/management/plan-job.test.ts',
    'an apply plans again three times when what it read changes without another effect',
  ),
  elsewhere(
    'server/src/full-backup/archive.ts',
    'maxEntries',
    'server/full-backup/full-backup.test.ts',
    'an archive holds files and folders that its list names, and nothing else',
  ),
  elsewhere(
    'server/src/full-backup/archive.ts',
    'maxCompression',
    'server/full-backup/full-backup.test.ts',
    'an archive holds files and folders that its list names, and nothing else',
  ),
  elsewhere(
    'server/src/full-backup/archive.ts',
    'leastContent',
    'server/full-backup/full-backup.test.ts',
    'an archive holds files and folders that its list names, and nothing else',
  ),
  elsewhere(
    'server/src/management/list-access.ts',
    'maxThrough',
    'server/management/list-access.test.ts',
    'of many roles and ways at most twenty are listed',
  ),
  elsewhere(
    'server/src/http/routes/access-checks-route.ts',
    'maxQuestions',
    'server/http/access.test.ts',
    'many questions have the answers of single ones, in their order',
  ),
  elsewhere(
    'server/src/http/crl-server.ts',
    'maxRequestsOfStranger',
    'server/http/revocation-lists.test.ts',
    'the plain listener begins four requests of a connection at a time, and no more',
  ),
  elsewhere(
    'server/src/turns/signing-turns.ts',
    'maxWaiting',
    'server/turns/signing-turns.test.ts',
    'the longest line, and one more',
  ),
  elsewhere(
    'server/src/instances/attestation/call-out.ts',
    'failuresUntilOpen',
    'server/instances/call-out.test.ts',
    'a provider that does not answer costs the others nothing, and after five failures itself nothing',
  ),
  inner(
    'server/src/instances/attestation/call-out.ts',
    'maxCircuits',
    'a circuit that is forgotten only forgets failures: the provider is asked again',
  ),
  maximum('server/src/instances/attestation/call-slots.ts', 'maxInFlight', async (calls) => {
    const error = await lastOf(calls, (index) => ({ operation: 'refresh', instanceId: `i-${index}` as never }));
    return !(error instanceof ProviderFailedError && JSON.stringify(error.detail).includes('inFlight'));
  }),
  maximum('server/src/instances/attestation/call-slots.ts', 'maxInFlightOfRegistrations', async (calls) => {
    const error = await lastOf(calls, (index) => ({ operation: 'register', clientAddress: `10.0.0.${index}` }));
    return !(error instanceof ProviderFailedError && JSON.stringify(error.detail).includes('inFlight'));
  }),
  maximum('server/src/instances/attestation/call-slots.ts', 'maxInFlightOfCaller', async (calls) => {
    const error = await lastOf(calls, () => ({ operation: 'register' }));
    return !(error instanceof TooManyRequestsError);
  }),
  maximum('server/src/instances/attestation/confirmation.ts', 'maxAttributes', (count) => {
    const attributes = Object.fromEntries(list(count, 'a').map((name) => [name, '']));
    return confirmationSchema.safeParse({ provider: 'p', domain: 'd', service: 's', attributes }).success;
  }),
  maximum('server/src/instances/attestation/signed-jwt.ts', 'maxLength', async (length) => {
    const issuer = { issuer: 'i', audience: 'a', subject: 's', claims: {}, maxAgeSeconds: 1 };
    const keys = () => Promise.reject(new Error('none'));
    const provider = signedJwtProvider({
      issuer: issuer as never,
      keys,
      clock: { now: () => 0 },
      instances: {} as never,
    });
    const message = await refusal(() => provider.attest({ ...attestation, attestationData: 'x'.repeat(length) }));
    return message !== '' && !message.includes('too long');
  }),
  elsewhere(
    'server/src/base/bounded-fetch.ts',
    'maxAnswerBytes',
    'server/people/issuer-keys.test.ts',
    'an answer is read up to 256 KiB, over verified https, and no redirect is followed',
  ),
  maximum('server/src/instances/foreign-refresh.ts', 'maxRemembered', async (count) => {
    let records = 0;
    const change = async () => {
      records += 1;
    };
    const alarm = foreignRefreshAlarm({ store: { change }, logger: { warn: () => undefined }, clock } as never);
    const serials = list(count, 's');
    for (const serial of [...serials, 's0']) await alarm({ certificate: { serial } } as never, {} as never);
    return records === count;
  }),
  maximum(
    'server/src/instances/instance-request.ts',
    'maxExpiry',
    (expiry) => expiryTimeSchema.safeParse(expiry).success,
  ),
  maximum('server/src/management/documents/parse-document.ts', 'maxCommonNameLength', (length) => {
    const text = `domain: d\nservices:\n  ${'s'.repeat(length - 2)}: {}\n`;
    return parseDomainDocument('d.yaml', text, parsePublicKey).kind === 'ok';
  }),
  maximum('server/src/management/documents/conditions.ts', 'maxCharacters', (length) => {
    const set = { instances: 'a'.repeat(length) };
    return arePlainConditions([set]) && conditionsSchema.safeParse([set]).success;
  }),
  maximum('server/src/management/documents/conditions.ts', 'maxSets', (length) => {
    const sets = Array.from({ length }, () => ({ instances: 'a' }));
    return arePlainConditions(sets) && conditionsSchema.safeParse(sets).success;
  }),
  elsewhere(
    'server/src/cli/import-command.ts',
    'maxInputBytes',
    'server/management/athenz-import-cli.test.ts',
    'what is read is bounded, and nothing is written over',
  ),
  minimum('server/src/management/athenz/verify-export.ts', 'minRsaBits', (modulusLength) => {
    const jwk = generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
    return parseZmsKeys(JSON.stringify({ keys: [{ ...jwk, kid: '0' }] }));
  }),
  maximum(
    'server/src/management/documents/yaml-source.ts',
    'maxCharacters',
    (length) => parseYaml('d.yaml', `a: 1 #${'x'.repeat(length - 6)}`).kind === 'ok',
  ),
  maximum(
    'server/src/management/documents/yaml-source.ts',
    'maxNames',
    (count) =>
      parseYaml(
        'd.yaml',
        list(count, '')
          .map((_, at) => `k${at}: 1`)
          .join('\n'),
      ).kind === 'ok',
  ),
  maximum(
    'server/src/management/documents/yaml-source.ts',
    'maxNodes',
    (count) => parseYaml('d.yaml', `[${'a,'.repeat(count - 1)}]`).kind === 'ok',
  ),
  maximum('server/src/management/documents/places.ts', 'maxProblems', (count) => {
    const text = list(count + 1, '')
      .map(() => 'a: 1\n')
      .join('');
    const result = parseYaml('d.yaml', text);
    return result.kind === 'bad' && result.problems.length === count;
  }),
  maximum('server/src/management/documents/assertion-warnings.ts', 'maxPairs', (pairs) => {
    const assertion = { effect: 'ALLOW', role: 'd:role.r', resource: 'd:x', caseSensitive: false } as const;
    const assertions = [
      { ...assertion, effect: 'DENY' as const, action: '*' },
      ...list(pairs, '').map((_, index) => ({ ...assertion, action: `a${index}` })),
    ];
    const policies = [{ ...defaultsOf(recordFields.policy), name: 'p', version: '0', active: true, assertions }];
    const content = { ...domainContent('d'), policies } as never;
    return assertionWarnings({ source: jsonSource({}), content, keepsKeys: new Set() }).length > 0;
  }),
  maximum('server/src/management/documents/assertion-warnings.ts', 'maxPatternWork', (work) => {
    const assertion = { role: 'd:role.r', action: 'a', caseSensitive: false } as const;
    // Characters of both, and one for the place at which they differ; the last pair fits at one more place.
    const shortest = 'x?'.length + 1;
    const last = 'x?'.length + 'x1'.length + 2;
    const costs = list(Math.ceil((work - last) / 10_000), '').map((_, index) =>
      Math.min(10_000, work - last - index * 10_000),
    );
    const resources = costs.map((cost, index) => `${index}y`.padEnd(cost - shortest, 'y'));
    const assertions = [
      { ...assertion, effect: 'DENY' as const, resource: 'x?' },
      ...[...resources, 'x1'].map((resource) => ({ ...assertion, effect: 'ALLOW' as const, resource })),
    ];
    const policies = [{ ...defaultsOf(recordFields.policy), name: 'p', version: '0', active: true, assertions }];
    const content = { ...domainContent('d'), policies } as never;
    return assertionWarnings({ source: jsonSource({}), content, keepsKeys: new Set() }).length > 0;
  }),
  maximum('server/src/management/documents/role-warnings.ts', 'maxPatternWork', (work) => {
    // One step for each pattern that begins otherwise.
    const patterns = list(1000, '').map((_, index) => `x${index}*`);
    const roles = list(Math.ceil(work / patterns.length), '').map((_, index) => `r${index}`);
    const assertions = roles.map((role) => ({ effect: 'ALLOW', role: `d:role.${role}`, action: 'a', resource: 'd:a' }));
    const lending = patterns.map((resource) => ({
      effect: 'ALLOW',
      role: 'e:role.r',
      action: 'assume_role',
      resource,
    }));
    const d = {
      ...domainContent('d'),
      roles: roles.map((name) => ({ name, trust: 'e', members: [] })),
      policies: [{ name: 'p', version: '0', active: true, assertions }],
    };
    const e = { ...domainContent('e'), policies: [{ name: 'p', version: '0', active: true, assertions: lending }] };
    const after = new Map([['e', e]]) as never;
    const document = { source: jsonSource({}), content: d as never, keepsKeys: new Set<string>() };
    return roleWarnings(document, after, 0).length === roles.length;
  }),
  maximum('server/src/management/field-changes.ts', 'maxShown', (length) => {
    const [change] = fieldChanges(undefined, 'x'.repeat(length), (text) => ({ text }));
    return change?.after?.endsWith('…') === false;
  }),
  elsewhere(
    'server/src/cli/plan/plan-markdown.ts',
    'maxBytes',
    'server/cli/plan/plan-markdown.test.ts',
    'a plan that nearly fills a comment is whole',
  ),
  inner('server/src/cli/plan/plan-markdown.ts', 'maxFrameBytes', 'it follows from maxLineCharacters'),
  maximum('server/src/cli/plan/plan-markdown.ts', 'maxLineCharacters', (length) => {
    return !planMarkdown(planOf([{ name: 'x'.repeat(length - 'role '.length) }])).includes('…');
  }),
  maximum('server/src/cli/plan/plan-markdown.ts', 'maxShownDomains', (count) => {
    return !planMarkdown(planOf(list(count, 'd').map((name) => ({ domain: parseDomainName(name) })))).includes(
      'and 1 more',
    );
  }),
  maximum('server/src/cli/plan/plan-markdown.ts', 'maxShownRefusals', (count) => {
    return !planMarkdown(planOf([], { refusals: list(count, '').map((_, line) => problemOf(line)) })).includes(
      '<details>',
    );
  }),
  maximum('server/src/management/documents/members.ts', 'maxPrefixLength', (length) => {
    const member = `${'m'.repeat(length - 2)}.*`;
    return (
      parseDomainDocument('d.yaml', `domain: d\nroles:\n  r:\n    members:\n      - ${member}\n`, parsePublicKey)
        .kind === 'ok'
    );
  }),
  elsewhere(
    'server/src/cli/request/request-command.ts',
    'minRequestSeconds',
    'server/cli/requests.test.ts',
    'a role is requested for 60 seconds at least',
  ),
  elsewhere(
    'server/src/management/approval-warnings.ts',
    'maxNamedMembers',
    'server/management/approval-rules.test.ts',
    'a warning names 10 members of a role, and counts the others',
  ),
  maximum('server/src/model/field-kinds.ts', 'maxUrlLength', (length) => {
    const url = 'https://a.test/'.padEnd(length, 'x');
    return (
      parseDomainDocument('d.yaml', `domain: d\nservices:\n  s:\n    endpoint: ${url}\n`, parsePublicKey).kind === 'ok'
    );
  }),
  maximum('server/src/instances/attestation/join-token.ts', 'maxTokenLength', async (length) => {
    let asked = 0;
    const isJoinTokenOpen = async () => {
      asked += 1;
      return true;
    };
    const { attest } = joinTokenProvider({ instances: { isJoinTokenOpen }, clock, trimsJoinTokens: false });
    await refusal(() =>
      attest({ operation: 'register', attestationData: 'signet-join-'.padEnd(length, 'x') } as never),
    );
    return asked === 1;
  }),
  maximum('server/src/cloud/credentials-request.ts', 'maxRoleLength', (length) => {
    const name = 'n'.repeat(64);
    const role = `${'p'.repeat(length - name.length - 1)}/${name}`;
    parseCredentialsRequest(parseDomainName('d'), role, {});
  }),
  elsewhere(
    'server/src/cloud/sts.ts',
    'maxAnswerBytes',
    'server/cloud/sts.test.ts',
    'an answer is read up to 32 KiB, and no further',
  ),
  elsewhere(
    'server/src/cloud/get-credentials.ts',
    'minDurationSeconds',
    'server/cloud/credentials-end.test.ts',
    'the cloud is not asked for a shorter life than it has',
  ),
  maximum('server/src/cloud/role-session.ts', 'maxNameLength', (length) => {
    const principal = parsePrincipalName(`d.${'s'.repeat(length - 2)}`);
    const request = { domain: parseDomainName('d'), role: 'r' };
    return roleSession('1', principal, request).sessionName === principal;
  }),
  maximum('server/src/management/documents/role-names.ts', 'maxPatternWork', (work) => {
    // One step for each name that does not begin the pattern.
    return !new RoleNames(list(work, '').map(() => 'x')).has('?y');
  }),
  maximum('server/src/roles/role-patterns.ts', 'maxPatternWork', (work) => {
    const patterns = new RolePatterns(['x*']);
    // One step for each name that does not begin so; `true` is the answer once there is no work left.
    return !list(work, '').some(() => patterns.fits('y', true));
  }),
  maximum(
    'server/src/base/short-text.ts',
    'maxMessageBytes',
    (length) => shortText('x'.repeat(length)).length === length && !shortText('x'.repeat(length)).endsWith(' ...'),
  ),
  maximum(
    'server/src/base/short-text.ts',
    'maxStackBytes',
    (length) => !String(shortLine({ stack: 'x'.repeat(length) })['stack']).endsWith(' ...'),
  ),
  maximum(
    'server/src/base/short-text.ts',
    'maxLoggedItems',
    (count) => !JSON.stringify(shortLine({ names: list(count, 'x') })).includes('more'),
  ),
  elsewhere(
    'server/src/cli/manage/retry.ts',
    'minRetrySeconds',
    'server/cli/retry.test.ts',
    'no delay, a broken one and none at all',
  ),
  maximum('server/src/management/certificates.ts', 'maxSerialDigits', (digits) => parseSerial('a'.repeat(digits))),
  elsewhere(
    'server/src/http/management/question-routes.ts',
    'maxExplanationWork',
    'server/access/explain-access.test.ts',
    'an explanation names what is missing within its work, and past it the decision alone',
  ),
  maximum('server/src/management/require-reason.ts', 'maxReason', (length) => parseReason('x'.repeat(length))),
  maximum('server/src/compose/refused-credentials.ts', 'maxReasons', async (count, t) => {
    const written: Record<string, number>[] = [];
    const noteRefusedCredentials = (counts: Record<string, number>) => void written.push(counts);
    const store = {
      change: async (_: object, work: (transaction: object) => void) => work({ noteRefusedCredentials }),
    };
    const refused = countRefusedCredentials({
      store,
      actor: 'test',
      onError: (error: unknown) => t.fail(String(error)),
    } as never);
    for (const reason of list(count, 'r')) refused.count(reason);
    await refused.close();
    return Object.keys(written[0] ?? {}).length === count && !('other reasons' in (written[0] ?? {}));
  }),
  elsewhere(
    'server/src/oauth/issue-id-token.ts',
    'maxIdTokenSeconds',
    'server/http/athenz-tokens.test.ts',
    'an ID token lives as long as asked for, at most 43,200 seconds',
  ),
  maximum('server/src/oauth/request-rules.ts', 'maxProxies', (count) => {
    const uris = list(count, 'r').map((id) => `spiffe://a.b/${id}`);
    return athenzRequests.readShape(new Map([['proxy_principal_spiffe_uris', uris.join()]]));
  }),
  maximum('server/src/oauth/request-rules.ts', 'maxProxyLength', (length) =>
    athenzRequests.readShape(new Map([['proxy_principal_spiffe_uris', 'spiffe://a.b/'.padEnd(length, 'r')]])),
  ),
  maximum('server/src/oauth/scope.ts', 'maxScopeItems', (count) =>
    parseScope(
      list(count, 'r')
        .map((role) => `d:role.${role}`)
        .join(' '),
    ),
  ),
  maximum('server/src/principals/principal-token.ts', 'maxLifeSeconds', (seconds) => {
    // the clocks of two hosts may differ by five minutes
    const reason = refusalOfToken((token) => token.replace('e=1001', `e=${1000 + seconds + 300}`));
    return reason !== '' && !reason.includes('lives too long');
  }),
  maximum('server/src/principals/principal-token.ts', 'maxTokenLength', (length) => {
    const reason = refusalOfToken((token) => token.replace(';s=', `;h=${'x'.repeat(length - token.length - 3)};s=`));
    return reason !== '' && !reason.includes('malformed');
  }),
  same('server/src/management/name-safeguards.ts', 'leastReservedMs', (ms) => {
    const none = { serviceMaxExpirySeconds: 0, roleMaxExpirySeconds: 0 };
    const ssh = { hostExpirySeconds: 0, userExpirySeconds: 0 };
    const tokens = { maxExpirySeconds: ms / 1000 };
    return reservationOf({ certificates: none, ssh, tokens }) === ms;
  }),
  maximum('server/src/management/name-safeguards.ts', 'maxListed', async (count) => {
    const memberships = list(count, 'r').map((name) => ({ domain: 'd', kind: 'role', list: name, member: 'a.b' }));
    const reader = { memberships: async () => memberships as never };
    const message = await refusal(() => checkUnused(reader, parseDomainName('a'), ['a.b'], () => true));
    return message !== '' && !message.includes('more');
  }),
  same('server/src/snapshot/layered-map.ts', 'leastLayer', (count) => {
    const base = LayeredMap.of(new Map(list(2 * count, 'k').map((key) => [key, { old: key }])));
    const changed = base.with(list(count, 'k').map((key) => [key, undefined]));
    return changed.size === count && !changed.has('k0') && changed.get(`k${count}`)?.old === `k${count}`;
  }),
  maximum('server/src/store/change-rows.ts', 'maxNames', (names, t) =>
    toldOneByOne(t, [{ roles: { r: [] } }, { roles: { r: list(names, 'm.s') } }]),
  ),
  maximum('server/src/store/change-rows.ts', 'maxRows', (rows, t) => followsRows(t, rows)),
  inner(
    'server/src/store/sqlite/sqlite-queries.ts',
    'longestRunMs',
    'it says when others have their turn, not what comes out',
  ),
  elsewhere(
    'server/src/store/copy/pages.ts',
    'maxPageRows',
    'server/store/copy-pages.test.ts',
    'pages grow up to 2,000 rows, and no row comes twice',
  ),
  elsewhere(
    'server/src/store/copy/pages.ts',
    'maxParameters',
    'server/store/copy-pages.test.ts',
    'pages grow up to 2,000 rows, and no row comes twice',
  ),
  elsewhere(
    'server/src/store/audit-lengths.ts',
    'maxPageCharacters',
    'server/store/audit-pages.test.ts',
    'a page of the audit log is bounded by what its records hold, and has one record at the least',
  ),
  inner(
    'server/src/store-watch/store-watch.ts',
    'longestIntervalMs',
    'it says when the store is tried again, not what is found',
  ),
  same('server/src/store/guarded-database.ts', 'maxShared', async (count, t) => {
    const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
    t.teardown(() => store.close());
    const saves = list(count, 'd').map((name) =>
      store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent(name))),
    );
    const outcomes = await Promise.all(saves);
    return outcomes.every(({ kind }) => kind === 'created') && (await store.state()).counter >= count;
  }),
  elsewhere(
    'server/src/cli/workers.ts',
    'longestRestartMs',
    'server/cli/workers.test.ts',
    'a worker that dies is replaced after a second at the earliest, and ever later when it goes on',
  ),
  elsewhere(
    'server/src/management/dry-runs.ts',
    'maxJobMs',
    'server/work-process/work-process.test.ts',
    'a job that takes too long ends with its process',
  ),
  elsewhere(
    'server/src/management/dry-runs.ts',
    'maxHeapMiB',
    'server/work-process/work-process.test.ts',
    'a job that takes too much memory ends with its process, and the next one has another',
  ),
  elsewhere(
    'server/src/management/dry-runs.ts',
    'maxWaiting',
    'server/work-process/work-process.test.ts',
    'at most maxWaiting jobs wait; one that is cancelled while it waits makes room',
  ),
  elsewhere(
    'server/src/management/dry-runs.ts',
    'maxWaitingOfDomain',
    'server/management/dry-runs.test.ts',
    'four dry runs of one domain wait, not one more, and other domains take turns with them',
  ),
  elsewhere(
    'server/src/management/preview.ts',
    'maxListedChanges',
    'server/management/dry-runs.test.ts',
    'a dry run lists a thousand changes, and counts one more',
  ),
  elsewhere(
    'server/src/management/preview.ts',
    'maxTries',
    'server/management/dry-runs.test.ts',
    'a dry run begins again when the domain was changed meanwhile, and not for ever',
  ),
  elsewhere(
    'server/src/store/read-changes.ts',
    'mostUpdates',
    'server/store/domain-parts.test.ts',
    'many changed domains are told whole',
  ),
  elsewhere(
    'server/src/budgets/budget-table.ts',
    'maxBudgets',
    'server/budgets/budget-table.test.ts',
    'full buckets make room first, and nobody else is forgotten',
  ),
  elsewhere(
    'server/src/budgets/budgets.ts',
    'maxKnownAddresses',
    'server/budgets/budgets.test.ts',
    'addresses that were known are forgotten in their order where there are more than are kept',
  ),
  elsewhere(
    'server/src/oauth/known-requests.ts',
    'maxKnownForms',
    'server/oauth/known-requests.test.ts',
    'of more forms than are kept the eldest is read again',
  ),
  elsewhere(
    'server/src/oauth/known-requests.ts',
    'maxKnownFormLength',
    'server/oauth/known-requests.test.ts',
    'a form that is longer than any usual one is read each time',
  ),
  elsewhere(
    'server/src/budgets/refusals.ts',
    'maxNames',
    'server/budgets/refusals.test.ts',
    'refusals are one line a minute, with those who were refused most; names without end are counted together',
  ),
  elsewhere(
    'server/src/budgets/refusals.ts',
    'maxNamesReported',
    'server/budgets/refusals.test.ts',
    'refusals are one line a minute, with those who were refused most; names without end are counted together',
  ),
  elsewhere(
    'server/src/http/connection-queue.ts',
    'maxWaiting',
    'server/http/connection-queue.test.ts',
    'with one more than may wait, the newest of the longest line is closed',
  ),
  elsewhere(
    'server/src/http/connection-queue.ts',
    'maxHeldBytes',
    'server/http/connection-queue.test.ts',
    'what a client sent before its turn is there to be read, up to a first message',
  ),
  elsewhere(
    'server/src/http/proxy-protocol.ts',
    'maxVariableLength',
    'server/http/proxy-protocol.test.ts',
    'a header of 4096 bytes beyond its fixed part is taken, a longer one is refused before it is there',
  ),
];
