import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { JsonLimits } from '@signet/policy-engine/json';
import { DomainError } from '@signet/server/errors';
import { bodyJson, readJson } from '@signet/server/http/body';
import { errorAnswer } from '@signet/server/http/error-response';
import { bodyLimits } from '@signet/server/http/management/index';
import { parseParameters } from '@signet/server/http/parameters';
import { requestSchema as bundleSchema } from '@signet/server/http/routes/policy-bundle';
import { parseRefreshInformation, parseRegisterInformation } from '@signet/server/instances/instance-request';
import {
  putAccount,
  putDomain,
  putLimits,
  putQuotas,
  readNewDomain,
} from '@signet/server/management/edits/edit-domains';
import { parseMemberList, putList, putMember } from '@signet/server/management/edits/edit-member-lists';
import { addAssertion, putActive, putPolicy, putVersion } from '@signet/server/management/edits/edit-policies';
import { putKey, putService } from '@signet/server/management/edits/edit-services';
import type { DomainEdit } from '@signet/server/management/judge-edit';
import { parseSshRevocation } from '@signet/server/ssh/revoke-ssh';
import { parseSshCertRequest } from '@signet/server/ssh/ssh-csr';
import test from 'ava';
import { assertWithin, leastProcessorMs, slowness } from '#support/cost';
import { hostileBodies, hostileTexts, hostileValues, mebibyte } from '#support/hostile-json';
import { memoryReader } from '#support/memory-reader';

/* Issue: at most 100 ms of processor time and 50 MB for parsing any body, and for any body that is refused. */
const boundMs = 100;
const quotas = {
  roles: 10_000,
  members: 100_000,
  groups: 10_000,
  policies: 2000,
  assertions: 20_000,
  services: 10_000,
  keys: 10_000,
};

const role = (name: string) => ({ name, members: [] });
/** A domain with as many roles as one may have: rules are compared with their names. */
const domain = {
  name: 'media',
  enabled: true,
  limits: {},
  roles: [...Array.from({ length: 9999 }, (_, index) => role(`r${index}`)), role('reader')],
  groups: [],
  policies: [{ name: 'data', version: '0', active: true, caseSensitive: false, assertions: [] }],
  services: [{ name: 'api', enabled: true, hosts: [], publicKeys: [] }],
} as never;

const name = 'media' as never;
const policy = { domain: name, name: 'data' as never };
const service = { domain: name, name: 'api' as never };
const reader = memoryReader([domain]);
const applied = async (edit: DomainEdit) => {
  const stored = await reader.attributes(edit.domain);
  return stored && (await (await edit.read(reader, stored)).change());
};

interface Operation {
  readonly read: (body: unknown) => unknown;
  /** A body that is accepted: its fields are replaced one by one. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly limits?: JsonLimits;
}

const large = bodyLimits(quotas);
const operations: Readonly<Record<string, Operation>> = {
  'a new domain': { read: readNewDomain, fields: { domain: 'x', admins: ['a.b'], description: 'x' }, limits: large },
  'a domain': {
    read: (body) => applied(putDomain(name, body)),
    fields: { enabled: true, description: 'x' },
    limits: large,
  },
  limits: { read: (body) => applied(putLimits(name, body)), fields: { tokenExpirySeconds: 1 }, limits: large },
  quotas: { read: (body) => applied(putQuotas(name, body, quotas)), fields: { roles: 1 }, limits: large },
  account: { read: (body) => applied(putAccount(name, body)), fields: { account: '000000000000' }, limits: large },
  'a role': {
    read: (body) => applied(putList(parseMemberList('role', name, 'reader'), body)),
    fields: { members: ['a.b'], trust: 'other', description: 'x' },
    limits: large,
  },
  'a group': {
    read: (body) => applied(putList(parseMemberList('group', name, 'team'), body)),
    fields: { members: ['a.b'] },
    limits: large,
  },
  'a member': {
    read: (body) => applied(putMember(parseMemberList('role', name, 'reader'), 'a.b', body)),
    fields: { expires: '2027-01-01T00:00:00Z' },
    limits: large,
  },
  'a policy': {
    read: (body) => applied(putPolicy(policy, body)),
    fields: { active: null, versions: {} },
    limits: large,
  },
  'a version': { read: (body) => applied(putVersion(policy, '1', body)), limits: large },
  'a rule': {
    read: (body) => applied(addAssertion(policy, '0', body)),
    fields: { action: 'a', resource: 'r', role: 'reader', conditions: [{ instances: 'a' }] },
    limits: large,
  },
  'the active version': { read: (body) => applied(putActive(policy, body)), fields: { version: '0' }, limits: large },
  'a service': {
    read: (body) => applied(putService(service, body)),
    fields: { hosts: ['a'], endpoint: 'https://a', description: 'x' },
    limits: large,
  },
  'a key': { read: (body) => applied(putKey(service, '0' as never, body)), fields: { pem: 'x' }, limits: large },
  'a registration': {
    read: (body) => parseRegisterInformation(body, 1),
    fields: { provider: 'a.b', domain: 'a', service: 'b', csr: 'x', attestationData: 'x', hostname: 'a' },
  },
  'a refresh': { read: (body) => parseRefreshInformation(body, 1), fields: { csr: 'x', ssh: 'x' } },
  'an SSH certificate': {
    read: parseSshCertRequest,
    fields: {
      certRequestData: { principals: ['a'], publicKey: 'x' },
      certRequestMeta: { requestor: 'a.b', certType: 'user' },
    },
  },
  'an SSH revocation': { read: parseSshRevocation, fields: { keyId: 'x' } },
  'a bundle': { read: (body) => bundleSchema.safeParse(body), fields: { policyVersions: {} } },
};

/** Context that a handler sees for a request with this body. */
async function contextOf(text: string, limits?: JsonLimits) {
  const ctx = { state: {}, request: { rawBody: text }, req: { headers: {} } } as never;
  // The middleware would go on to read the body; the type is what stops it.
  await Promise.resolve()
    .then(() => readJson(mebibyte, limits)(ctx, async () => undefined))
    .catch(() => undefined);
  return ctx;
}

for (const [title, { read, fields = {}, limits }] of Object.entries(operations)) {
  test.serial(`a hostile body costs little and is answered briefly: ${title}`, async (t) => {
    t.timeout(300_000);
    let worst: readonly [string, number] = ['', 0];
    let count = 0;
    for (const [what, text] of hostileBodies(fields)) {
      count += 1;
      const ctx = await contextOf(text, limits);
      let message: string | undefined;
      const answer = async () => {
        message = undefined;
        try {
          await read(bodyJson(ctx));
        } catch (error) {
          t.true(error instanceof DomainError || (error as Error).name === 'InvalidNameError', `${what}: ${error}`);
          message = errorAnswer(error).message;
        }
      };
      const first = await leastProcessorMs(answer, Number.MAX_VALUE);
      // Work on an accepted body has bounds of its own: only parsing is within this one.
      const work = message === undefined ? () => bodyJson(ctx) : answer;
      const cost = first <= boundMs ? first : await leastProcessorMs(work, boundMs);
      t.true(Buffer.byteLength(message ?? '') <= 1024, what);
      if (cost > worst[1]) worst = [what, cost];
    }
    t.log(`${count} bodies`);
    assertWithin(t, worst[0], worst[1], boundMs, 'ms');
  });
}

for (const [title, limits] of [
  ['the management API', large],
  ['others', undefined],
] as const) {
  test.serial(`a hostile text costs little to parse: ${title}`, async (t) => {
    t.timeout(300_000);
    let worst: readonly [string, number] = ['', 0];
    for (const [what, text] of hostileTexts) {
      const ctx = await contextOf(text.slice(0, mebibyte), limits);
      const cost = await leastProcessorMs(() => {
        try {
          bodyJson(ctx);
        } catch (error) {
          t.true(error instanceof DomainError, `${what}: ${error}`);
        }
      }, boundMs);
      if (cost > worst[1]) worst = [what, cost];
    }
    assertWithin(t, worst[0], worst[1], boundMs, 'ms');
  });
}

test('a hostile text costs little to parse in a thread that was just started', async (t) => {
  t.timeout(300_000);
  const script = new URL('../../support/cold-json.ts', import.meta.url);
  let worst: readonly [string, number] = ['', 0];
  for (const [what, text] of [...hostileTexts, ...hostileValues]) {
    const workerData = { text: text.slice(0, mebibyte), limits: large };
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 12 && least > boundMs; run += 1) {
      const [cost] = await once(new Worker(script, { workerData }), 'message');
      least = Math.min(least, cost);
    }
    const cost = least > boundMs ? least / slowness() : least;
    if (cost > worst[1]) worst = [what, cost];
  }
  assertWithin(t, worst[0], worst[1], boundMs, 'ms');
});

test.serial('a hostile form costs little', async (t) => {
  const forms = ['a&', '=&', '&', 'a=%20&', '%', '+', 'a[', 'é'].map((part) => part.repeat(65_536 / part.length));
  for (const form of forms) {
    const cost = await leastProcessorMs(() => {
      try {
        parseParameters(form, 'body');
      } catch (error) {
        t.true(error instanceof DomainError);
      }
    }, boundMs);
    t.true(cost <= boundMs, `${form.slice(0, 8)}: ${cost}`);
  }
});
