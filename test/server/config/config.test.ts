import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { addressesOf, explainConfig, loadConfig } from '@signet/server/config/config';
import { ConfigError } from '@signet/server/config/config-error';
import { optionPaths } from '@signet/server/config/config-schema';
import { environmentName } from '@signet/server/config/env';
import { nearestName } from '@signet/server/config/nearest-name';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const tls = 'tls: { certificate: c.pem, key: ../k.pem, clientCa: /ca.pem }\n';

function written(t: ExecutionContext, text: string): string {
  const file = join(temporaryFolder(t), 'signet.yaml');
  writeFileSync(file, text);
  return file;
}

test('defaults, and paths relative to the file', (t) => {
  const file = written(t, tls);
  const config = loadConfig(file);
  const at = (path: string) => join(file, '..', path);
  t.deepEqual(config.tls, { certificate: at('c.pem'), key: at('../k.pem'), clientCa: '/ca.pem', renew: false });
  t.is(config.keysDir, at('data/keys'));
  t.deepEqual(config.store, { kind: 'sqlite', onDivergence: 'warn', file: at('data/signet.db') });
  t.is(config.keys.storage, 'files');
  const sealed = loadConfig(
    written(t, `${tls}keys: { storage: store, sealingKeyFile: a.key, previousSealingKeyFiles: [../b.key, /c.key] }`),
  );
  const { sealingKeyFile = '', previousSealingKeyFiles } = sealed.keys;
  t.deepEqual(
    [sealingKeyFile, ...previousSealingKeyFiles],
    ['a.key', '../b.key', '/c.key'].map((path) => resolve(sealed.file, '..', path)),
  );
  t.deepEqual(config.tokens, {
    defaultExpirySeconds: 7200,
    maxExpirySeconds: 7200,
    longestExpirySeconds: 2_592_000,
    bound: true,
    idTokens: true,
  });
  t.false(config.anonymousKeys);
  t.is(config.profile.name, 'signet');
  t.true(Object.isFrozen(config));
});

test('suffixes of names in certificates are those of the profile athenz', (t) => {
  const suffixes = (text: string) => loadConfig(written(t, `${tls}${text}\n`)).certificates.dnsSuffixes;
  t.deepEqual(suffixes(''), []);
  t.deepEqual(suffixes('profile: athenz'), ['signet.local', 'athenz.cloud']);
  t.deepEqual(suffixes('profile: athenz\ncertificates: { dnsSuffix: cloud }'), ['cloud']);
  t.deepEqual(suffixes('profile: athenz\ncertificates: { dnsSuffixes: [a.example] }'), ['a.example']);
  t.throws(() => suffixes('certificates: { dnsSuffixes: [a.example] }'), {
    message: /certificates.dnsSuffixes needs the profile `athenz`/,
  });
  t.throws(() => suffixes('profile: athenz\ncertificates: { dnsSuffix: example, dnsSuffixes: [a.example] }'), {
    message: /certificates.dnsSuffixes must hold none that is below certificates.dnsSuffix/,
  });
});

test('environment over file, flags over environment, each with its origin', (t) => {
  const file = written(t, `${tls}listen: { port: 1, host: file }\nworkers: 2\n`);
  const environment = {
    SIGNET_LISTEN_PORT: '2',
    SIGNET_WORKERS: '3',
    SIGNET_LOG_LEVEL: '',
    SIGNET_TOKENS_BOUND: 'false',
  };
  const config = loadConfig(file, environment, { 'listen.port': 3, workers: undefined });
  t.deepEqual(config.listen, { host: 'file', port: 3, proxyProtocolFrom: [], reusePort: false });
  t.is(config.workers, 3);
  t.false(config.tokens.bound);
  const origin = new Map(explainConfig(config).map(({ option, from }) => [option, from]));
  t.deepEqual(
    ['listen.port', 'listen.host', 'workers', 'tokens.bound', 'log.level', 'profile'].map((option) =>
      origin.get(option),
    ),
    ['flag', 'file', 'environment', 'environment', 'default', 'default'],
  );
});

test('every option has its own variable, and is explained', (t) => {
  t.is(new Set(optionPaths.map(environmentName)).size, optionPaths.length);
  t.is(environmentName('tokens.defaultExpirySeconds'), 'SIGNET_TOKENS_DEFAULT_EXPIRY_SECONDS');
  const explained = explainConfig(loadConfig(written(t, tls)));
  t.deepEqual(
    explained.map(({ option }) => option),
    [...optionPaths],
  );
});

const parted = 'must part its names by a character that one of them cannot hold, e.g. `/`, or as `{domain}.{service}`';

function withJwtSubject(subject: string): string {
  const issuer = `provider: a.b, issuer: 'https://i', audience: a, keysFile: k.json, subject: '${subject}'`;
  return `${tls}instances: { jwtIssuers: [{ ${issuer} }] }\n`;
}

function jwtSubjects(cases: readonly (readonly [subject: string, problem: string])[]) {
  return cases.map(([subject, problem]) => {
    const problems = [`instances.jwtIssuers.0.subject: ${problem}`];
    return [`the subject ${subject} of attestation tokens`, withJwtSubject(subject), problems] as const;
  });
}

for (const subject of [
  'system:serviceaccount:{domain}:{service}',
  '{domain}.{service}',
  '{service}/{domain}',
  '{service}.{domain}',
  'x:{domain}.{service}/{instanceId}',
  '{instanceId}/{domain}.{service}.x',
  '{domain}/{instanceId}.{service}',
]) {
  test(`takes the subject ${subject} of attestation tokens`, (t) => {
    t.is(loadConfig(written(t, withJwtSubject(subject))).instances.jwtIssuers[0]?.subject, subject);
  });
}

const refused: readonly (readonly [name: string, text: string, problems: readonly string[]])[] = [
  ['an unknown option', `${tls}worker: 2\n`, ['unknown option `worker`, did you mean `workers`?']],
  [
    'an unknown option inside',
    `${tls}tokens: { bond: true }\n`,
    ['unknown option `tokens.bond`, did you mean `tokens.bound`?'],
  ],
  ['an option like no other', `${tls}zzzzzzzzzzzz: 2\n`, ['unknown option `zzzzzzzzzzzz`']],
  ['a wrong type', `${tls}workers: many\n`, ['workers: expected number, received string']],
  [
    'an issuer that is not https',
    `${tls}issuer: http://x\n`,
    ['issuer: must be an https address without user, query and fragment'],
  ],
  [
    'an issuer with a query',
    `${tls}issuer: https://x/?a\n`,
    ['issuer: must be an https address without user, query and fragment'],
  ],
  [
    'a default over the ceiling',
    `${tls}tokens: { defaultExpirySeconds: 100, maxExpirySeconds: 60 }\n`,
    ['tokens.defaultExpirySeconds must not exceed tokens.maxExpirySeconds'],
  ],
  [
    'keys that sign before they are known',
    `${tls}keys: { maxAgeSeconds: 600, prepublishSeconds: 600 }\n`,
    ['keys.prepublishSeconds must be at least 902: keys.maxAgeSeconds, one snapshot refresh and 300 s'],
  ],
  [
    'keys that are replaced before their predecessors are withdrawn',
    `${tls}keys: { rotateEverySeconds: 2595899 }\n`,
    [
      'keys.rotateEverySeconds must be at least 2595900: keys.prepublishSeconds, the longest life of a token or bundle ' +
        '(tokens.maxExpirySeconds, 30 days where it is not set; bundles.lifetimeSeconds) and 300 s',
    ],
  ],
  [
    'keys that are made by one server and that others would lack',
    `${tls}store: { kind: postgres, postgres: { hosts: [db] } }\nkeys: { rotateEverySeconds: 2595900 }\n`,
    [
      'keys.rotateEverySeconds with store.kind `postgres` needs keys.storage `store`: other servers would lack the file',
    ],
  ],
  [
    'sealed keys without a sealing key',
    `${tls}keys: { storage: store, previousSealingKeyFiles: [old.key] }\n`,
    ['keys.storage `store` needs keys.sealingKeyFile', 'keys.previousSealingKeyFiles needs keys.sealingKeyFile'],
  ],
  [
    'another place for keys',
    `${tls}keys: { storage: disk }\n`,
    ['keys.storage: Invalid option: expected one of "files"|"store"'],
  ],
  [
    'a port that is shared by whoever comes, with workers',
    `${tls}listen: { port: 0, reusePort: true }\nworkers: 2\n`,
    ['listen.reusePort is for processes of their own: set workers to 1', 'listen.reusePort needs ports that are not 0'],
  ],
  [
    'a plain listener without an issuer',
    `${tls}crl: { listen: { port: 0 } }\n`,
    ['crl.listen.port needs an issuer in certificates.issuers, and no management.alone'],
  ],
  [
    'addresses of lists that say too little, or too much',
    `${tls}crl: { distributionPoints: ["http://x/crl", "ftp://x/{issuer}", "http://u@x/{issuer}", "http://x/ {issuer}"] }\n`,
    [
      'crl.distributionPoints.0: must hold `{issuer}` once',
      'crl.distributionPoints.1: must be an http or https address',
      'crl.distributionPoints.2: must be an http or https address',
      'crl.distributionPoints.3: must be printable ASCII without blanks',
    ],
  ],
  ...jwtSubjects([
    ['system:serviceaccount:media:player', 'must hold `{domain}` and `{service}`'],
    ['system:serviceaccount:{domain}:player', 'must hold `{domain}` and `{service}`'],
    ['system:serviceaccount:media:{service}', 'must hold `{domain}` and `{service}`'],
    ['{instanceId}', 'must hold `{domain}` and `{service}`'],
    ['{domain}-{service}', parted],
    ['{domain}{service}', parted],
    ['{domain}_{service}', parted],
    ['{domain}.{service}.{instanceId}', parted],
    ['{service}/{domain}.{instanceId}', parted],
    ['{service}/{domain}:{instanceId}/x{instanceId}-{domain}', parted],
    ['{domain}/{service}{instanceId}', parted],
  ]),
  ['no options at all', '', ['tls: required']],
  ['a list', '- a\n', ['the file must be a mapping of options']],
  [
    'the configuration of a client',
    'baseUrl: https://x/v1\ncertificate: a.pem\nkey: b.pem\ncaBundle: c.pem\n',
    ['it is the configuration of a client: name that of the server by `--config` or `SIGNET_CONFIG`'],
  ],
  [
    'what is no address',
    `${tls}budgets: { sharedAddresses: [balancer.example] }\n`,
    ['budgets.sharedAddresses.0: must be an address or a network, e.g. `192.0.2.7` or `10.0.0.0/8`'],
  ],
  [
    'everything at once',
    'workers: 0\nlisten: { prot: 1 }\n',
    [
      'tls: required',
      'workers: Too small: expected number to be >=1',
      'unknown option `listen.prot`, did you mean `listen.port`?',
    ],
  ],
];

for (const [name, text, problems] of refused) {
  test(`refuses ${name}`, (t) => {
    const error = t.throws(() => loadConfig(written(t, text)), { instanceOf: ConfigError });
    t.deepEqual([...(error?.problems ?? [])].sort(), [...problems].sort());
  });
}

test('a variable that does not fit is named', (t) => {
  const error = t.throws(() => loadConfig(written(t, tls), { SIGNET_WORKERS: 'x' }), { instanceOf: ConfigError });
  t.deepEqual(error?.problems, ['workers (from SIGNET_WORKERS): expected number, received string']);
});

test('bad YAML and no file are said in one line', (t) => {
  const bad = t.throws(() => loadConfig(written(t, 'a: [1\nb: 2')), { instanceOf: ConfigError });
  t.is(bad?.problems.length, 1);
  t.regex(bad?.problems[0] ?? '', /line 2/);
  const none = t.throws(() => loadConfig('/nonexistent/signet.yaml'), { instanceOf: ConfigError });
  t.deepEqual(none?.problems, [
    'the file cannot be read (ENOENT): name that of the server by `--config` or `SIGNET_CONFIG`',
  ]);
});

const addresses: readonly (readonly [name: string, text: string, port: number, expected: object])[] = [
  [
    'the defaults',
    '',
    4443,
    { baseUrl: 'https://127.0.0.1:4443/v1', issuer: 'https://127.0.0.1:4443/v1', basePath: '/v1' },
  ],
  [
    'a picked port',
    'listen: { port: 0, host: "::1" }\n',
    77,
    { baseUrl: 'https://[::1]:77/v1', issuer: 'https://[::1]:77/v1', basePath: '/v1' },
  ],
  [
    'athenz',
    'profile: athenz\n',
    1,
    { baseUrl: 'https://127.0.0.1:1/zts/v1', issuer: 'https://127.0.0.1:1/zts/v1', basePath: '/zts/v1' },
  ],
  [
    'a base URL and an issuer',
    'baseUrl: https://tokens.example/api/\nissuer: https://issuer.example/\n',
    1,
    { baseUrl: 'https://tokens.example/api', issuer: 'https://issuer.example/', basePath: '/api' },
  ],
  [
    'no path',
    'baseUrl: https://x.example\n',
    1,
    { baseUrl: 'https://x.example', issuer: 'https://x.example', basePath: '' },
  ],
];

for (const [name, text, port, expected] of addresses) {
  test(`addresses with ${name}`, (t) =>
    t.deepEqual(addressesOf(loadConfig(written(t, `${tls}${text}`)), port), expected));
}

test('the nearest name is near', (t) => {
  t.is(nearestName('tokens.bund', ['tokens.bound', 'tokens.idTokens']), 'tokens.bound');
  t.is(nearestName('x', ['tokens.bound']), undefined);
});

test('a store in PostgreSQL: where it is, with what is in force, and what contradicts itself', (t) => {
  const at = (text: string) => loadConfig(written(t, `${tls}store: { kind: postgres, postgres: ${text} }`));
  const config = at('{ hosts: [db1, "[::1]:6432", /run/postgresql], passwordFile: secret, poolSize: 2 }');
  const folder = join(config.file, '..');
  t.like(config.store, { kind: 'postgres', database: 'signet', user: 'signet', poolSize: 2, listen: true });
  const shown = new Map(explainConfig(config).map(({ option, value }) => [option, value]));
  t.deepEqual(shown.get('store.postgres.hosts'), ['db1', '[::1]:6432', '/run/postgresql']);
  t.is(shown.get('store.postgres.passwordFile'), join(folder, 'secret'));
  t.is(shown.get('store.postgres.poolSize'), 2);
  for (const [text, problem] of [
    ['{}', /store\.postgres\.hosts must name a host/],
    ['{ hosts: ["postgres://u:p@db/x"] }', /must be host:port or the folder of a socket/],
    ['{ hosts: ["db:0"] }', /must be host:port/],
    ['{ hosts: ["db:65536"] }', /must be host:port/],
    ['{ hosts: [db], certificate: c.pem }', /needs both certificate and key/],
    ['{ hosts: [db], poolSize: 1 }', /poolSize/],
    ['{ hosts: [db], password: x }', /unknown option `store\.postgres\.password`/],
  ] as const) {
    t.throws(() => at(text), { instanceOf: ConfigError, message: problem }, text);
  }
  t.throws(() => loadConfig(written(t, `${tls}store: { postgres: { hosts: [db] } }`)), {
    message: /needs store\.kind: postgres/,
  });
});
