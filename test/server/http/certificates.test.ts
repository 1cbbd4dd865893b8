import { parsePathElement, parsePrincipalName } from '@signet/policy-engine/names';
import type { CertificateRow } from '@signet/server/model/certificate-store';
import test from 'ava';
import { send } from '#support/management-world';
import { type Answer, type Caller, caller, startServer, wholeFile } from '#support/start-server';

/* Certificates that were issued: who may look at them, and revoke them. */

const file = wholeFile();
const server = await startServer(file, {
  domains: [
    {
      name: 'sys.auth',
      roles: { admin: ['sys.auth.operator'], helpers: ['media.helper'], all: ['media.wild'] },
      policies: {
        administration: [['ALLOW', 'admin', '*', '*']],
        revocation: [['ALLOW', 'helpers', 'revoke', 'certificate']],
        wild: [['ALLOW', 'all', 'revo*', '*']],
      },
      services: { operator: {} },
    },
    {
      name: 'films',
      roles: {
        admin: ['media.boss'],
        revokers: ['media.revoker'],
        denied: ['media.denied'],
        delegates: ['media.delegate'],
        wild: ['media.wild'],
      },
      services: { api: {}, other: {} },
      policies: {
        revocation: [
          ['ALLOW', 'revokers', 'revoke', 'certificate'],
          ['ALLOW', 'denied', 'revoke', 'certificate'],
          ['DENY', 'denied', 'rev*', 'cert*'],
        ],
        wild: [
          ['ALLOW', 'wild', '*', '*'],
          ['ALLOW', 'wild', 'r*', 'certificate'],
          ['ALLOW', 'wild', 'revoke', 'c*'],
          ['ALLOW', 'wild', 'revoke', 'ssh'],
        ],
        management: [
          ['ALLOW', 'delegates', 'view_domain', '*'],
          ['ALLOW', 'delegates', 'manage_services', '*'],
        ],
      },
    },
    {
      name: 'media',
      roles: { admin: ['media.chief'] },
      services: {
        boss: {},
        chief: {},
        revoker: {},
        denied: {},
        delegate: {},
        wild: {},
        helper: {},
        player: {},
      },
    },
  ],
});
const as = async (name: string) => caller(file, server, await server.pki.identity(name));
const callers = {
  operator: await as('sys.auth.operator'),
  holder: await as('films.api'),
  sibling: await as('films.other'),
  boss: await as('media.boss'),
  revoker: await as('media.revoker'),
  denied: await as('media.denied'),
  delegate: await as('media.delegate'),
  wild: await as('media.wild'),
  chief: await as('media.chief'),
  helper: await as('media.helper'),
  player: await as('media.player'),
  ann: await as('user.ann'),
  bob: await as('user.bob'),
} satisfies Record<string, Caller>;
test.after.always(() => file.end());

const root = '^/management/v1/certificates';
let made = 0;

/** A certificate in the store, and its serial number. */
async function issued(holder: string, more: Partial<CertificateRow> = {}): Promise<string> {
  made += 1;
  const serial = `ab${String(made).padStart(30, '0')}`;
  const row = {
    serial,
    issuer: 'i',
    kind: holder.startsWith('user.') ? ('user' as const) : ('service' as const),
    subject: holder,
    holder: parsePrincipalName(holder),
    notBefore: 1_000_000_000,
    notAfter: 4_000_000_000,
    ...more,
  };
  await server.store.certificates.intend(row, 1_000_000_000);
  await server.store.certificates.confirm(serial, `f${serial}`);
  return serial;
}

const revocation = send('PUT', { reason: 'key-compromise' });
const unknown = 'f'.repeat(32);

const rights: readonly (readonly [name: keyof typeof callers, service: boolean, person: boolean])[] = [
  ['operator', true, true],
  ['holder', true, false],
  ['boss', true, false],
  ['revoker', true, false],
  ['helper', false, true],
  ['ann', false, true],
  ['sibling', false, false],
  ['denied', false, false],
  ['delegate', false, false],
  ['wild', false, false],
  ['chief', false, false],
  ['player', false, false],
  ['bob', false, false],
];

for (const [name, ofService, ofPerson] of rights) {
  test(`rights over certificates: ${name}`, async (t) => {
    const ask = callers[name];
    const missing = await ask(`${root}/${unknown}`);
    t.is(missing.status, 404);
    for (const [holder, may] of [
      ['films.api', ofService],
      ['user.ann', ofPerson],
    ] as const) {
      const serial = await issued(holder);
      const answers = [
        await ask(`${root}/${serial}`),
        await ask(`${root}?holder=${holder}&limit=1`),
        await ask(`${root}/${serial}/revocation`, revocation),
      ];
      for (const { status, text } of answers) {
        t.is(status, may ? 200 : 404, `${holder}: ${text}`);
        if (!may) t.is(text, missing.text, 'the same bytes as for an unknown one');
      }
      const record = await server.store.certificates.find(serial);
      t.is(record?.revoked?.reason, may ? 'key-compromise' : undefined);
    }
  });
}

const fields = ({ body }: Answer) => Object(body);

test('the record of a certificate, by its serial number in each form', async (t) => {
  const serial = await issued('films.api', { vouchedKey: 'k1' as never });
  const colons = serial.toUpperCase().replace(/..(?=.)/g, '$&:');
  for (const form of [serial, serial.toUpperCase(), encodeURIComponent(colons), colons]) {
    t.deepEqual(fields(await callers.holder(`${root}/${form}`)), {
      serial,
      kind: 'service',
      subject: 'films.api',
      holder: 'films.api',
      vouchedKey: 'k1',
      notBefore: '2001-09-09T01:46:40.000Z',
      notAfter: '2096-10-02T07:06:40.000Z',
      state: 'valid',
    });
  }
});

test('a revocation is answered with the record, also the second time, and names its caller', async (t) => {
  const serial = await issued('films.api');
  const first = await callers.boss(`${root}/${serial}/revocation`, revocation);
  t.like(first.body, { state: 'revoked', revoked: { reason: 'key-compromise' } });
  const second = await callers.holder(`${root}/${serial}/revocation`, send('PUT', { reason: 'superseded' }));
  t.deepEqual([second.status, second.body], [200, first.body]);
  const [record] = await server.store.audit({ subject: serial, limit: 2 });
  t.like(record, { actor: 'media.boss', action: 'revoke-certificate', reason: 'key-compromise' });
  t.is((await server.store.audit({ subject: serial, limit: 5 })).length, 1);
});

test('certificates are listed by their end, in pages, the valid ones alone unless all are asked for', async (t) => {
  const holder = 'media.chief';
  const ends = [3_000_000_000, 3_500_000_000, 3_000_000_000, 1_100_000_000];
  const serials: string[] = [];
  for (const notAfter of ends) serials.push(await issued(holder, { notAfter }));
  const [first = '', second = '', third = '', over = ''] = serials;
  const revoked = await issued(holder, { notAfter: 3_900_000_000 });
  await callers.chief(`${root}/${revoked}/revocation`, revocation);
  await issued('media.boss');
  const list = async (query: string) => {
    const found: [string, string][] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { items, next } = fields(await callers.chief(`${root}?holder=${holder}&limit=2${query}${cursor}`));
      for (const { serial, state } of items) found.push([serial, state]);
      cursor = next === undefined ? undefined : `&cursor=${next}`;
    }
    return found;
  };
  const valid = [second, third, first].map((serial) => [serial, 'valid']);
  t.deepEqual(await list(''), valid as never);
  t.deepEqual(await list('&state=all'), [[revoked, 'revoked'], ...valid, [over, 'expired']] as never);
});

test('instances and role certificates have their holder', async (t) => {
  const role = await issued('media.player', { kind: 'role', subject: 'films:role.reader' });
  t.like((await callers.player(`${root}/${role}`)).body, {
    kind: 'role',
    subject: 'films:role.reader',
    state: 'valid',
  });
  // Not those of the domain of the role: a certificate belongs to who holds it.
  t.is((await callers.boss(`${root}/${role}`)).status, 404);
  const more = { kind: 'instance' as const, provider: parsePrincipalName('sys.auth.server') };
  const instance = await issued('films.api', { ...more, instanceId: parsePathElement('i-1') });
  t.like((await callers.boss(`${root}/${instance}`)).body, { provider: 'sys.auth.server', instanceId: 'i-1' });
});

test('certificates of a deleted service are not those of the next one of its name', async (t) => {
  const services = '^/management/v1/domains/films/services';
  await callers.boss(`${services}/short`, send('PUT', {}));
  const serial = await issued('films.short');
  await callers.boss(`${services}/short`, { method: 'DELETE' });
  const again = await callers.operator(`${services}/short?reuseName=true`, send('PUT', {}));
  t.is(again.status, 201, again.text);
  const next = caller(t, server, await server.pki.identity('films.short'));
  t.is((await next(`${root}/${serial}`)).status, 404);
  t.deepEqual(fields(await next(`${root}?holder=films.short&state=all`)).items, []);
  // The domain is the same, and so is its administrator.
  t.is((await callers.boss(`${root}/${serial}`)).status, 200);
});

for (const [path, message] of [
  [`${root}/xyz`, 'serial must be at most 40 hexadecimal digits, with or without colons'],
  [`${root}/${'a'.repeat(41)}`, 'serial must be at most 40 hexadecimal digits, with or without colons'],
  [`${root}?holder=films.api&state=old`, 'state must be `valid` or `all`'],
  [
    `${root}?holder=films.api&kind=user`,
    'the query has a parameter that is not known here; allowed: holder, state, limit, cursor',
  ],
  [`${root}/${unknown}?state=all`, undefined],
  [root, undefined],
] as const) {
  test(`refused: ${path}`, async (t) => {
    const { status, body } = await callers.operator(path);
    t.is(status, 400);
    if (message !== undefined) t.is(Object(body).message, message);
  });
}

for (const body of [{}, { reason: 'bored' }, { reason: 'superseded', more: 1 }]) {
  test(`a revocation is refused: ${JSON.stringify(body)}`, async (t) => {
    const serial = await issued('films.api');
    t.is((await callers.holder(`${root}/${serial}/revocation`, send('PUT', body))).status, 400);
    t.is((await server.store.certificates.find(serial))?.revoked, undefined);
  });
}
