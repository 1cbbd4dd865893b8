import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { openApiDocument } from '@signet/server/http/openapi/document';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { documentOf, exportDomain } from '@signet/server/management/export-domain';
import { planDocuments } from '@signet/server/management/plan-documents';
import type { Fields } from '@signet/server/model/fields';
import { recordFields } from '@signet/server/model/record-fields';
import type { DomainRecord } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { managementWorld, send } from '#support/management-world';
import { temporaryFolder } from '#support/temp';

const { operator, newDomain, end } = await managementWorld();
test.after.always(end);

/*
 * Every field that is described, alone and with its neighbours, wherever it goes: a new one that lacks a migration, or is lost in a reader, a
 * writer, a comparison or a view, fails here without a line being added.
 */

type Kind = keyof typeof recordFields;
type Said = Readonly<Record<string, unknown>>;

const films = parseDomainName('films');
/** Enough of them for approvals. */
const administrators = { members: ['user.jane', 'user.joe'] };
const versions = { '1': [{ action: 'watch', resource: 'film', role: 'admin' }] };

interface Place {
  /** A document in which the record says this. */
  readonly document: (said: Said) => Said;
  /** The record in a domain that was read, or in what an audit record says of one. */
  readonly record: (domain: DomainRecord) => object | undefined;
  /** Name in a plan. */
  readonly change: string;
  /** Where the management API has it, below the domain. */
  readonly path: string;
  readonly body?: (said: Said) => Said;
}

const places: Readonly<Record<Kind, Place>> = {
  domain: { document: (said) => said, record: (domain) => domain, change: 'domain films', path: '' },
  limits: {
    document: (said) => ({ limits: said }),
    record: ({ limits }) => limits,
    change: 'domain films',
    path: '/limits',
  },
  accounts: {
    document: (said) => ({ accounts: said }),
    record: ({ accounts }) => accounts,
    change: 'domain films',
    path: '/accounts/aws',
    body: ({ aws }) => ({ account: aws }),
  },
  role: {
    document: (said) => ({ roles: { admin: administrators, lent: said } }),
    record: ({ roles }) => roles.find(({ name }) => name === 'lent'),
    change: 'role lent',
    path: '/roles/lent',
  },
  group: {
    document: (said) => ({ groups: { critics: said } }),
    record: ({ groups }) => groups[0],
    change: 'group critics',
    path: '/groups/critics',
  },
  member: {
    document: (said) => ({ groups: { critics: { members: [{ name: 'user.joe', ...said }] } } }),
    record: ({ groups }) => groups[0]?.members[0],
    change: 'member critics: user.joe',
    path: '/groups/critics/members/user.joe',
  },
  policy: {
    document: (said) => ({ policies: { watching: { ...said, active: '1', versions } } }),
    record: ({ policies }) => policies[0],
    change: 'policy watching version 1',
    path: '/policies/watching',
    body: (said) => ({ ...said, active: '1', versions }),
  },
  service: {
    document: (said) => ({ services: { api: said } }),
    record: ({ services }) => services[0],
    change: 'service api',
    path: '/services/api',
  },
};

/** Each field alone, and all of a kind at once. */
const cases = Object.entries(recordFields).flatMap(([kind, fields]: [string, Fields]) => {
  const samples = Object.fromEntries(Object.entries(fields).map(([name, { sample }]) => [name, sample]));
  const alone = Object.keys(fields).map((name) => [name, { [name]: samples[name] }] as const);
  // Other fields need them.
  delete samples['approvals'];
  return [...alone, ['all at once', samples] as const].map(([name, said]) => ({ kind: kind as Kind, name, said }));
});

/** Record values of a document's values. */
function valuesOf(kind: Kind, said: Said): Said {
  const fields: Fields = recordFields[kind];
  return Object.fromEntries(Object.entries(said).map(([name, wire]) => [name, fields[name]?.parse(wire)]));
}

async function stored(store: Store): Promise<DomainRecord> {
  const domain = await store.domain(films);
  if (domain === undefined) throw new Error('no domain');
  return domain;
}

/** Applies a document of the domain, and answers what a plan for it named. */
async function apply(store: Store, folder: string, said: Said): Promise<readonly string[]> {
  writeFileSync(join(folder, 'films.yaml'), stringify({ domain: films, roles: { admin: administrators }, ...said }));
  const documents = readDocumentFolder(folder);
  const { changes } = await planDocuments(store, documents, 0);
  await applyDocuments(store, documents, { actor: 'a', reason: 'a reason' }, { now: 0, breakGlass: true });
  return changes.map(({ change, kind, name }) => `${change} ${kind} ${name}`);
}

async function newestAudit(t: ExecutionContext, store: Store): Promise<{ before: DomainRecord; after: DomainRecord }> {
  const [record] = await store.audit({ subject: films, limit: 1 });
  t.is(record?.action, 'change');
  const none = { roles: [], groups: [], policies: [], services: [] };
  const side = (text = '{}') => ({ ...none, ...JSON.parse(text) }) as DomainRecord;
  return { before: side(record?.before), after: side(record?.after) };
}

for (const { kind, name, said } of cases) {
  test(`${kind}, ${name}: from a document to the store and back`, async (t) => {
    const place = places[kind];
    const values = valuesOf(kind, said);
    const folder = temporaryFolder(t);
    const store = await openSqliteStore(join(folder, 'signet.db'));
    t.teardown(() => store.close());
    writeFileSync(join(folder, 'media.yaml'), 'domain: media\n');
    await apply(store, folder, place.document({}));
    const plain = exportDomain(await stored(store));
    t.deepEqual(await apply(store, folder, place.document({})), []);
    t.deepEqual(await apply(store, folder, place.document(said)), [`change ${place.change}`]);
    const domain = await stored(store);
    t.like(place.record(domain), values);
    t.like(place.record((await newestAudit(t, store)).after), values);
    t.like(documentOf(domain), place.document(said));
    writeFileSync(join(folder, 'films.yaml'), exportDomain(domain));
    t.deepEqual((await planDocuments(store, readDocumentFolder(folder), 0)).changes, []);
    // What a provider confirms instances with stays until a document says another.
    if ('endpoint' in said) return;
    t.deepEqual(await apply(store, folder, place.document({})), [`change ${place.change}`]);
    t.like(place.record((await newestAudit(t, store)).before), values);
    t.is(exportDomain(await stored(store)), plain);
  });
}

for (const [index, { kind, name, said }] of cases.entries()) {
  test(`${kind}, ${name}: by the management API`, async (t) => {
    const { path, body = (own: Said) => own } = places[kind];
    const domain = await newDomain(`d${index}`, { admins: administrators.members });
    await operator(`${domain}/groups/critics`, send('PUT', { members: ['user.joe'] }));
    const write = (own: Said, query = '') => operator(`${domain}${path}?reason=x${query}`, send('PUT', body(own)));
    if (kind !== 'accounts') await write({});
    const { body: before } = await operator(`${domain}${path}`);
    const tried = await write(said, '&dryRun=true');
    t.is(tried.status, 200, tried.text);
    t.is(Object(tried.body).changes.length, 1, tried.text);
    const made = await write(said);
    t.true(made.status < 300, made.text);
    t.like(made.body, body(said));
    t.deepEqual((await operator(`${domain}${path}`)).body, made.body);
    if (kind === 'accounts') return;
    const reset = await write({});
    if ('approvals' in said) return t.is(reset.status, 409, 'lowering approvals takes them');
    t.deepEqual((await operator(`${domain}${path}`)).body, before);
  });
}

test('the OpenAPI document names every field, in bodies and in answers', (t) => {
  const { paths, components } = openApiDocument() as unknown as Api;
  const text = (schema: unknown): string =>
    JSON.stringify(schema).replace(/\{"\$ref":"#\/components\/schemas\/(\w+)"\}/g, (_, name: string) =>
      text(components.schemas[name]),
    );
  for (const { kind, name, said } of cases) {
    const { path, body = (own: Said) => own } = places[kind];
    const [full = ''] = Object.keys(paths).filter((each) => {
      return new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(`/management/v1/domains/films${path}`);
    });
    const operation = paths[full]?.put;
    const schemas = [operation?.requestBody, operation?.responses['200']].map(text);
    for (const field of Object.keys(body(said))) {
      for (const schema of schemas) t.true(schema.includes(`"${field}":`), `${kind}, ${name}: ${field}`);
    }
  }
});

interface Api {
  readonly paths: Readonly<
    Record<string, { readonly put?: { readonly requestBody: unknown; readonly responses: Said } } | undefined>
  >;
  readonly components: { readonly schemas: Said };
}
