import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SchemaName } from '@signet/server/cli/config/schema-files';
import { configSchema } from '@signet/server/config/config-schema';
import { caseFileSchema } from '@signet/server/management/documents/case-file';
import { documentSchema } from '@signet/server/management/documents/document-schema';
import { configSchema as updaterSchema } from '@signet/updater/config/config';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { limitCases } from '../limits/schema-limits.ts';
import { samplesOf } from '../limits/schema-samples.ts';
import { jsonSchemas } from './json-schemas.ts';

/* The JSON Schemas accept what the programs accept, by a validator of others, and refuse the mistakes that people make. */

const top = fileURLToPath(new URL('../..', import.meta.url));
const ajv = new Ajv2020({ strict: true, validateFormats: false, allErrors: true });
ajv.addVocabulary(['x-since', 'x-unit', 'x-absent', 'x-environment']);
const json = jsonSchemas();
const zods = { config: configSchema, updater: updaterSchema, domain: documentSchema, 'policy-tests': caseFileSchema };

/** Both opinions of a value: of the program's schema and of the JSON Schema. */
function opinions(name: SchemaName, value: unknown): { ours: boolean; schema: boolean } {
  return { ours: zods[name].safeParse(value).success, schema: validators[name](value) };
}
const validators = {
  config: ajv.compile(json.config),
  updater: ajv.compile(json.updater),
  domain: ajv.compile(json.domain),
  'policy-tests': ajv.compile(json['policy-tests']),
};

const accepted = { ours: true, schema: true };
const refused = { ours: false, schema: false };

const sources: Readonly<Record<SchemaName, string>> = {
  config: 'server/src/config/config-schema.ts configSchema',
  updater: 'updater/src/config/config.ts configSchema',
  domain: '',
  'policy-tests': '',
};

for (const name of ['config', 'updater', 'domain', 'policy-tests'] as const) {
  test(`${name}: each bound is the same in both`, (t) => {
    const cases = limitCases(zods[name], samplesOf[sources[name]]);
    t.true(cases.length >= (name === 'policy-tests' ? 1 : 10));
    for (const { title, at, beyond } of cases) {
      t.deepEqual(opinions(name, at), accepted, title);
      // That integers end where JavaScript's do is no rule of ours.
      if (!title.endsWith(String(Number.MAX_SAFE_INTEGER))) t.deepEqual(opinions(name, beyond), refused, title);
    }
  });
}

/** The kind of a YAML file by its name. */
const kindOf = (file: string): SchemaName => (/\.cases\.yaml$/.test(file) ? 'policy-tests' : 'domain');

test('the sample documents and their tests are accepted by both, and name their schema', (t) => {
  const files = globSync('policies/*.yaml', { cwd: top });
  t.true(files.length >= 6);
  for (const file of files) {
    const text = readFileSync(`${top}${file}`, 'utf8');
    t.deepEqual(opinions(kindOf(file), parse(text)), accepted, file);
    t.is(text.split('\n')[0], `# yaml-language-server: $schema=../schemas/${kindOf(file)}.schema.json`);
  }
});

test('examples of the guides are accepted by both', (t) => {
  const blocks = globSync(['docs/guides/*.md', 'updater/README.md'], { cwd: top }).flatMap((file) =>
    [...readFileSync(`${top}${file}`, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => [file, text]),
  );
  const found: SchemaName[] = [];
  for (const [file, text] of blocks) {
    const value: unknown = parse(text ?? '');
    const name = nameOf(value);
    if (name === undefined) continue;
    found.push(name);
    t.deepEqual(opinions(name, value), accepted, `${file}: ${text}`);
  }
  for (const name of ['domain', 'policy-tests', 'updater'] as const) t.true(found.includes(name), name);
});

/** Schema of which an example is a whole value; undefined for a part. */
function nameOf(value: unknown): SchemaName | undefined {
  if (Array.isArray(value)) return value.some((item) => item?.expect !== undefined) ? 'policy-tests' : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if ('policyDir' in value) return 'updater';
  if ('domain' in value) return 'domain';
  return 'tls' in value ? 'config' : undefined;
}

const tls = { certificate: 'c.pem', key: 'k.pem', clientCa: 'ca.pem' };
const updater = {
  baseUrl: 'https://signet.example/v1',
  caBundle: 'ca.pem',
  certificate: 'c.pem',
  key: 'k.pem',
  policyDir: 'policy',
  domains: ['films'],
};
const question = { principal: 'films.api', action: 'read', resource: 'movie', expect: 'allow' };

const rights: readonly (readonly [SchemaName, unknown])[] = [
  ['config', { tls }],
  ['updater', updater],
  ['domain', { domain: 'films' }],
  ['domain', { domain: 'films', policies: { p: [{ effect: 'Allow', action: 'a', resource: 'r', role: 'r' }] } }],
  ['policy-tests', [question]],
];
for (const [name, value] of rights) {
  test(`${name}: both accept ${JSON.stringify(value)}`, (t) => t.deepEqual(opinions(name, value), accepted));
}

test('a file of policy tests with nothing in it is accepted', (t) => t.true(validators['policy-tests'](null)));

const mistakes: Readonly<Record<SchemaName, readonly unknown[]>> = {
  config: [
    {},
    null,
    [],
    { tls: { ...tls, key: '' } },
    { tls: { certificate: 'c.pem' } },
    { tls, lisen: {} },
    { tls, listen: { prot: 1 } },
    { tls, listen: { port: '4443' } },
    { tls, listen: { port: 65_536 } },
    { tls, listen: null },
    { tls, listen: { proxyProtocolFrom: '10.0.0.1' } },
    { tls, listen: { proxyProtocolFrom: ['balancer.example'] } },
    { tls, profile: 'Athenz' },
    { tls, workers: 1.5 },
    { tls, tokens: { bound: 'yes' } },
    { tls, certificates: { issuers: [{ certificate: 'c.pem' }] } },
    { tls, certificates: { issuers: [{ certificate: 'c.pem', key: 'k.pem', state: 'retired' }] } },
    { tls, certificates: { trustDomain: 'Example.com' } },
    { tls, instances: { jwtIssuers: [{ provider: 'p', issuer: 'i', audience: 'a' }] } },
    { tls, ssh: { extensions: ['permit-everything'] } },
    { tls, log: { level: 'verbose' } },
  ],
  updater: [
    {},
    { ...updater, domains: [] },
    { ...updater, domains: 'films' },
    { ...updater, bundleForm: 'jws' },
    { ...updater, maxBundleBytes: 1 },
    { ...updater, athenzBundles: 'true' },
    { ...updater, interval: 60 },
    { ...updater, policyDir: undefined },
  ],
  domain: [
    {},
    [],
    { domain: 1 },
    { domain: 'films', role: {} },
    { domain: 'films', enabled: 'no' },
    { domain: 'films', roles: [] },
    { domain: 'films', roles: { a: { member: [] } } },
    { domain: 'films', roles: { a: { members: 'films.api' } } },
    { domain: 'films', roles: { a: { tokenExpirySeconds: 0 } } },
    { domain: 'films', policies: { p: [{ action: 'a', resource: 'r' }] } },
    { domain: 'films', policies: { p: [{ action: 'a', resource: 'r s', role: 'r' }] } },
    { domain: 'films', policies: { p: [{ action: 'a', resource: 'r', role: 'r', conditions: [] }] } },
    { domain: 'films', policies: { p: [{ action: 'a', resource: 'r', role: 'r', condition: [] }] } },
    { domain: 'films', services: { s: { hosts: 'h' } } },
    { domain: 'films', quotas: { roles: -1 } },
    { domain: 'films', accounts: { aws: '12' } },
  ],
  'policy-tests': [
    {},
    [{}],
    [{ ...question, expect: 'yes' }],
    [{ ...question, expects: 'allow' }],
    [{ ...question, resource: '' }],
    [{ ...question, roles: 'reader' }],
    [{ ...question, context: { nowhere: 'x' } }],
    [{ ...question, action: undefined }],
  ],
};
for (const [name, values] of Object.entries(mistakes) as [SchemaName, readonly unknown[]][]) {
  for (const value of values) {
    test(`${name}: both refuse ${JSON.stringify(value)}`, (t) => {
      // Form of a file: a member that is undefined is absent.
      t.deepEqual(opinions(name, parse(stringify(value, { keepUndefined: false }))), refused);
    });
  }
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly type?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

const strange = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  'x',
  'https://a.example',
  '10.0.0.0/8',
  '{issuer}',
  [],
  ['x'],
  {},
  { x: 'y' },
];

/** Values of an object of options: some left out, most as they may be; `wild`: a few as they may not be. */
function valuesOf(schema: Node, wild: boolean): fc.Arbitrary<unknown> {
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(([name, inner]) => [name, valuesOf(inner, wild)] as const);
    return fc.record(Object.fromEntries(entries), { requiredKeys: [...(schema.required ?? [])] });
  }
  const items =
    schema.items?.properties === undefined ? [] : [fc.array(valuesOf(schema.items, wild), { maxLength: 2 })];
  const known = [schema.default, ...(schema.examples ?? []), ...(schema.enum ?? []), schema.minimum, schema.maximum];
  const right = [fc.constantFrom(...known.filter((value) => value !== undefined)), ...items];
  return wild
    ? fc.oneof({ arbitrary: fc.oneof(...right), weight: 30 }, fc.constantFrom(...strange))
    : fc.oneof(...right);
}

for (const name of ['config', 'updater'] as const) {
  test(`${name}: configurations made of examples and defaults are accepted by both`, (t) => {
    const property = fc.property(valuesOf(json[name] as Node, false), (value) => {
      const isContradiction = name === 'updater' && JSON.stringify(value).includes('"athenzBundles":true');
      if (!isContradiction) t.deepEqual(opinions(name, value), accepted);
    });
    t.notThrows(() => fc.assert(property, { numRuns: 60 }));
  });

  test(`${name}: what the program accepts, the schema does not contradict`, (t) => {
    let count = 0;
    const property = fc.property(valuesOf(json[name] as Node, true), (value) => {
      const { ours, schema } = opinions(name, value);
      if (ours) count++;
      return schema || !ours;
    });
    t.notThrows(() => fc.assert(property, { numRuns: 300 }));
    t.true(count > 0);
  });
}
