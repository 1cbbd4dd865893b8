import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleFormOf, configFile, loadConfig } from '@signet/updater/config/config';
import test from 'ava';
import { stringify } from 'yaml';
import { temporaryFolder } from '#support/temp';

const good = {
  baseUrl: 'https://localhost:4443/v1',
  caBundle: 'ca/bundle.pem',
  certificate: '/abs/cert.pem',
  key: 'key.pem',
  policyDir: 'policy',
  domains: ['Catalog', 'media'],
};

test('reads a file, paths relative to it, names lower-cased, the rest by default', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'updater.yaml');
  writeFileSync(file, stringify(good));
  const config = loadConfig(file, { PATH: '/bin' });
  t.deepEqual(
    { ...config, domains: config.domains.map(String) },
    {
      baseUrl: 'https://localhost:4443/v1',
      caBundle: join(folder, 'ca/bundle.pem'),
      certificate: '/abs/cert.pem',
      key: join(folder, 'key.pem'),
      policyDir: join(folder, 'policy'),
      domains: ['catalog', 'media'],
      maxDomains: 1000,
      maxBundleBytes: 33_554_432,
      connectTimeoutMs: 30_000,
      readTimeoutMs: 30_000,
      logLevel: 'info',
      metrics: {},
    },
  );
  writeFileSync(file, stringify({ ...good, metrics: { textfile: 'out/signet.prom' } }));
  t.deepEqual(loadConfig(file, {}).metrics, { textfile: join(folder, 'out/signet.prom') });
});

test('the environment goes before the file', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'updater.yaml');
  writeFileSync(file, stringify(good));
  const config = loadConfig(file, {
    SIGNET_UPDATER_BASE_URL: 'https://other:1/v1',
    SIGNET_UPDATER_DOMAINS: 'sports, catalog',
    SIGNET_UPDATER_POLICY_DIR: '/var/policy',
    SIGNET_UPDATER_MAX_BUNDLE_BYTES: '4096',
    HTTPS_PROXY: 'http://proxy:3128',
    NO_PROXY: 'localhost',
  });
  t.like(config, {
    baseUrl: 'https://other:1/v1',
    policyDir: '/var/policy',
    maxBundleBytes: 4096,
    proxy: 'http://proxy:3128',
    noProxy: 'localhost',
  });
  t.deepEqual(config.domains.map(String), ['sports', 'catalog']);
});

const bad: readonly { note: string; text: string; message: string }[] = [
  {
    note: 'an unknown key',
    text: stringify({ ...good, policydir: 'x' }),
    message: 'the file: Unrecognized key: "policydir"',
  },
  { note: 'plain http', text: stringify({ ...good, baseUrl: 'http://x' }), message: 'baseUrl: not an https URL' },
  {
    note: 'no domain',
    text: stringify({ ...good, domains: [] }),
    message: 'domains: Too small: expected array to have >=1 items',
  },
  {
    note: 'a path as domain',
    text: stringify({ ...good, domains: ['../../etc/x'] }),
    message: 'domains.0: not a domain name',
  },
  {
    note: 'a NUL in a domain',
    text: stringify({ ...good, domains: ['a\0b'] }),
    message: 'domains.0: not a domain name',
  },
  {
    note: 'a domain twice',
    text: stringify({ ...good, domains: ['a', 'A'] }),
    message: 'domains: a domain is named twice',
  },
  {
    note: 'a form that an Athenz server does not have',
    text: stringify({ ...good, athenzBundles: true, bundleForm: 'rfc7515' }),
    message: 'bundleForm: must be `athenz` where `athenzBundles` is true: an Athenz server has no other form',
  },
  {
    note: 'an unknown form',
    text: stringify({ ...good, bundleForm: 'zpu' }),
    message: 'bundleForm: Invalid option: expected one of "rfc7515"|"athenz"',
  },
  {
    note: 'a word for a boolean',
    text: stringify({ ...good, athenzBundles: 'yes' }),
    message: 'athenzBundles: expected boolean, received string',
  },
];

const wanted: [athenzBundles: boolean | undefined, bundleForm: 'rfc7515' | 'athenz' | undefined, form: string][] = [
  [undefined, undefined, 'rfc7515'],
  [false, undefined, 'rfc7515'],
  [true, undefined, 'athenz'],
  [true, 'athenz', 'athenz'],
  [false, 'athenz', 'athenz'],
  [undefined, 'rfc7515', 'rfc7515'],
];
for (const [athenzBundles, bundleForm, form] of wanted) {
  test(`the form of bundles with athenzBundles ${athenzBundles} and bundleForm ${bundleForm} is ${form}`, (t) => {
    const file = join(temporaryFolder(t), 'updater.yaml');
    writeFileSync(file, stringify(good));
    const env = {
      ...(athenzBundles !== undefined && { SIGNET_UPDATER_ATHENZ_BUNDLES: String(athenzBundles) }),
      ...(bundleForm !== undefined && { SIGNET_UPDATER_BUNDLE_FORM: bundleForm }),
    };
    const config = loadConfig(file, env);
    t.deepEqual([config.athenzBundles, config.bundleForm, bundleFormOf(config)], [athenzBundles, bundleForm, form]);
  });
}

for (const { note, text, message } of bad) {
  test(`refuses ${note}, and names it`, (t) => {
    const file = join(temporaryFolder(t), 'updater.yaml');
    writeFileSync(file, text);
    t.like(
      t.throws(() => loadConfig(file, {})),
      { name: 'UpdaterError', code: 'configuration', message: `configuration \`${file}\`: ${message}` },
    );
  });
}

test('names every problem at once', (t) => {
  const file = join(temporaryFolder(t), 'updater.yaml');
  writeFileSync(file, 'domains: [a]\n');
  const { message } = t.throws(() => loadConfig(file, {})) ?? new Error();
  for (const name of ['baseUrl', 'caBundle', 'certificate', 'key', 'policyDir']) t.true(message.includes(`${name}: `));
});

for (const { note, text, ending } of [
  { note: 'broken YAML', text: 'a: [', ending: 'is not YAML: line 1' },
  { note: 'a list', text: '- a', ending: 'must be a mapping of settings' },
]) {
  test(`refuses ${note}`, (t) => {
    const file = join(temporaryFolder(t), 'updater.yaml');
    writeFileSync(file, text);
    t.is(t.throws(() => loadConfig(file, {}))?.message, `configuration \`${file}\` ${ending}`);
  });
}

test('an unknown variable of ours is an error', (t) => {
  const file = join(temporaryFolder(t), 'updater.yaml');
  writeFileSync(file, stringify(good));
  const error = t.throws(() => loadConfig(file, { SIGNET_UPDATER_POLICYDIR: 'x' }));
  t.is(error?.message, 'environment variable `SIGNET_UPDATER_POLICYDIR` is not known');
});

test('finds its file by option, variable, or the usual place', (t) => {
  t.is(configFile('/a.yaml', { SIGNET_UPDATER_CONFIG: '/b.yaml' }), '/a.yaml');
  t.is(configFile(undefined, { SIGNET_UPDATER_CONFIG: '/b.yaml' }), '/b.yaml');
  t.is(configFile(undefined, {}), join(process.cwd(), '.signet/updater.yaml'));
});
