import { X509Certificate } from 'node:crypto';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import type { Store } from '@signet/server/model/store';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { json } from '#support/instance-world';
import { createPki } from '#support/pki';
import { revoke } from '#support/revoke';
import { saveDomain } from '#support/save-domain';
import { type CallOptions, caller, startServer } from '#support/start-server';

/*
 * A change waits for its turn, behind others of its author if there are many. What speaks for the author may end meanwhile: each of these
 * authors was let in, and has lost its certificate or its name before the transaction begins. Patterns go on to give the name its rights.
 */

const media = { name: 'media', services: { admin: {}, guest: {} } } as const;
const domains = [
  {
    name: 'sys.auth',
    roles: { operators: ['media.*'] },
    policies: { operators: [['ALLOW', 'operators', 'manage_domain', 'domain.*']] },
  },
  media,
  {
    name: 'catalog',
    roles: { admin: ['media.*'], reader: [] },
    policies: { cleaning: [['ALLOW', 'admin', 'delete', 'instance.*']] },
  },
  { name: 'dark', enabled: false },
] as const;

const changes: Readonly<Record<string, { path: string; call: CallOptions; usual: number }>> = {
  'a member': {
    path: '^/management/v1/domains/catalog/roles/reader/members/media.guest',
    call: json({}, 'PUT'),
    usual: 201,
  },
  'a new domain': {
    path: '^/management/v1/domains',
    call: json({ domain: 'late', admins: ['media.guest'] }),
    usual: 201,
  },
  'the end of a domain': { path: '^/management/v1/domains/dark', call: { method: 'DELETE' }, usual: 204 },
  'the end of an instance': {
    path: '/instance/prov.cloud/catalog/api/i-1',
    call: { method: 'DELETE' },
    usual: 204,
  },
  'the end of an SSH certificate': { path: '/sshcert/revoke', call: json({ keyId: 'none' }), usual: 404 },
};

interface Author {
  readonly store: Pick<Store, 'change' | 'certificates'>;
  readonly certificate: string;
  readonly clock: FakeClock;
}

const save = (store: Author['store'], services: Readonly<Record<string, object>>) =>
  store.change({ actor: 'operator' }, (transaction) =>
    saveDomain(transaction, domainContent({ name: 'media', services: services as typeof media.services })),
  );

const endings: Readonly<Record<string, { end: (author: Author) => Promise<unknown>; status: number }>> = {
  'its certificate was revoked': {
    status: 403,
    end: async ({ store, certificate, clock }) => {
      const at = epochSeconds(clock);
      const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
      const holder = parsePrincipalName('media.admin');
      const row = { serial, issuer: 'pki', kind: 'service', subject: holder, holder, notBefore: 0 } as const;
      await store.certificates.intend({ ...row, notAfter: at + 86_400 }, at);
      return await revoke(store as Store, serial, { reason: 'key-compromise', at, by: 'operator' });
    },
  },
  'its service was deleted': { status: 401, end: ({ store }) => save(store, { guest: {} }) },
  'its service was made again': {
    status: 401,
    end: async ({ store, clock }) => {
      clock.advance(5000);
      await save(store, { guest: {} });
      return await save(store, { admin: {}, guest: {} });
    },
  },
};

for (const [what, { path, call, usual }] of Object.entries(changes)) {
  test(`${what}: made while its author counts`, async (t) => {
    const server = await startServer(t, { domains });
    const answer = await caller(t, server, await server.pki.identity('media.admin'))(path, call);
    t.is(answer.status, usual, answer.text);
  });
  for (const [ending, { end, status }] of Object.entries(endings)) {
    test(`${what}: not made when ${ending} while it waited`, async (t) => {
      const clock = new FakeClock(systemClock.now());
      const server = await startServer(t, { domains, clock, pki: await createPki(clock) });
      const { store } = server;
      const identity = await server.pki.identity('media.admin');
      const change = store.change.bind(store);
      const { promise: waited, resolve } = Promise.withResolvers<number>();
      store.change = async (context, work) => {
        store.change = change;
        await end({ store, certificate: identity.certificate, clock });
        resolve((await store.state()).counter);
        return await change(context, work);
      };
      const answer = await caller(t, server, identity)(path, call);
      t.is(answer.status, status, answer.text);
      t.is((await store.state()).counter, await waited, 'nothing is changed');
    });
  }
}
