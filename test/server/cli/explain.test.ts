import { explainOption } from '@signet/server/cli/config/explain';
import { UsageError } from '@signet/server/cli/run';
import test from 'ava';

test('an option is explained by its meaning, type, default, example, variable and first version', (t) => {
  t.deepEqual(explainOption('keys.prepublishSeconds', {}), {
    option: 'keys.prepublishSeconds',
    meaning: 'How long a new key is published before it signs.',
    type: 'integer, 0 to 2592000',
    default: '3600',
    unit: 'seconds',
    example: '7200',
    environment: 'SIGNET_KEYS_PREPUBLISH_SECONDS',
    since: '0.1',
  });
  const defaults = ['tls.key', 'issuer', 'store.postgres.ca'].map((option) => explainOption(option, {}));
  t.like(defaults, [{ default: 'required' }, { default: '`baseUrl`' }, { default: 'what this machine trusts' }]);
});

test('an option of the items of a list is meant with and without the number of an item', (t) => {
  const state = explainOption('certificates.issuers[].state', {});
  t.like(state, { option: 'certificates.issuers[].state', type: 'one of active, draining', default: 'active' });
  for (const name of ['certificates.issuers.0.state', 'certificates.issuers[12].state']) {
    t.deepEqual(explainOption(name, {}), state);
  }
  t.like(explainOption('certificates.issuers', {}), { type: 'list of sections, at most 8' });
  t.like(explainOption('certificates.issuers[]', { json: true }), {
    option: 'certificates.issuers',
    options: [
      { option: 'certificates.issuers[].certificate', isRequired: true },
      { option: 'certificates.issuers[].key' },
      { option: 'certificates.issuers[].state' },
    ],
  });
});

test('a section lists its options, and no name the sections', (t) => {
  t.deepEqual(explainOption('crl.listen', {}), [
    { option: 'crl.listen.host', meaning: 'Address or host name to listen on.' },
    { option: 'crl.listen.port', meaning: 'TCP port of plain HTTP; 0: any free one.' },
  ]);
  t.like(explainOption(undefined, {}), [
    { option: 'profile' },
    { option: 'listen', meaning: 'Where the server listens.' },
  ]);
  t.like(explainOption(undefined, { updater: true }), [{ option: 'baseUrl' }, { option: 'caBundle' }]);
});

test('options of the updater are asked for by --updater', (t) => {
  t.deepEqual(explainOption('key', { updater: true }), {
    option: 'key',
    meaning: 'PEM private key of `certificate`.',
    type: 'string',
    default: 'required',
    example: 'identities/catalog.updater.key.pem',
    environment: 'SIGNET_UPDATER_KEY',
    since: '0.1',
  });
});

for (const [name, hint] of [
  ['port', ', did you mean `listen.port` or `crl.listen.port` or `metrics.listen.port`?'],
  ['tls.certificat', ', did you mean `tls.certificate`?'],
  ['trustDomian', ', did you mean `certificates.trustDomain`?'],
  ['somethingElseAltogether', ': `signet config explain` lists the sections'],
] as const) {
  test(`an unknown option is an error that names what may be meant: ${name}`, (t) => {
    const message = `unknown option \`${name}\`${hint}`;
    t.throws(() => explainOption(name, {}), { instanceOf: UsageError, message });
  });
}
